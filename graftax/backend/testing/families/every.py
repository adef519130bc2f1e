"""What the tests know of each family of ops, one file each.

A family has ``CASES``, sample inputs by name; ``REFERENCES``, the same functions written plainly in NumPy;
``DIFFERENTIABLE`` and ``NOT_DIFFERENTIABLE``, all of their names on one of two lists; and ``KINDS``, their names by the
kinds of numbers that they take: bool, int8, uint8, half precision and complex, a letter for each.
"""

from graftax.backend.testing.families import (
    activations,
    images,
    matrices,
    nan_reductions,
    normalizations,
    places,
    special,
    spectra,
    statistics,
)

FAMILIES = (activations, images, matrices, nan_reductions, normalizations, places, special, spectra, statistics)
"""Every family."""
