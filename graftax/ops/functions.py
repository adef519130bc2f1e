"""Every function that a row calls, by name: importing this imports the files that define them."""

from graftax.ops import activations, attention, neural, reductions, special, structure
from graftax.ops.structure import FUNCTIONS

__all__ = ["FUNCTIONS", "activations", "attention", "neural", "reductions", "special", "structure"]
