"""Every function that a row calls, by name: importing this imports the files that define them."""

from graftax.ops import (
    activations,
    attention,
    creation,
    nan_reductions,
    neural,
    rearranging,
    reductions,
    scattering,
    segments,
    special,
    statistics,
    structure,
)
from graftax.ops.structure import FUNCTIONS

__all__ = [
    "FUNCTIONS",
    "activations",
    "attention",
    "creation",
    "nan_reductions",
    "neural",
    "rearranging",
    "reductions",
    "scattering",
    "segments",
    "special",
    "statistics",
    "structure",
]
