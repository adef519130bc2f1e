"""Every function that a row calls, by name: importing this imports the files that define them."""

from graftax.ops import (
    activations,
    attention,
    colors,
    creation,
    matrices,
    nan_reductions,
    neural,
    normalizations,
    rearranging,
    reductions,
    sampling,
    scattering,
    segments,
    special,
    spectra,
    statistics,
    structure,
)
from graftax.ops.structure import FUNCTIONS

__all__ = [
    "FUNCTIONS",
    "activations",
    "attention",
    "colors",
    "creation",
    "matrices",
    "nan_reductions",
    "neural",
    "normalizations",
    "rearranging",
    "reductions",
    "sampling",
    "scattering",
    "segments",
    "special",
    "spectra",
    "statistics",
    "structure",
]
