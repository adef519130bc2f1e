"""The table of all ops: one row each, from which `graftax.ops` and its stub are made.

The rows are in `graftax.ops.rows`. A row reads ``name(parameters): What it computes.`` or ``name(parameters) -> result:
What it computes.``; a line that is indented continues a row. Each parameter is written with its kind, as in ``axis:
Axes | None = None``; the kinds are explained in `graftax.ops.parameter_kinds`, and a parameter that is written without
one is an ``Operand``. Names of parameters mean nothing. A row stands in the section that says where its function is
(`SECTIONS`). A name with a dot is one in a namespace: ``image.resize`` is ``ops.image.resize``.
"""

from __future__ import annotations

import re

from graftax.ops.rows import elementwise, image, linear_algebra, neural, reductions, structure
from graftax.ops.signatures import NUMPY, Op

SECTIONS = (
    (elementwise.UNARY, NUMPY, False, False),
    (elementwise.BINARY, NUMPY, False, True),
    (reductions.PLAIN, NUMPY, False, False),
    (structure.SHAPE, NUMPY, True, False),
    (structure.SEQUENCE, NUMPY, True, False),
    (structure.FILLED, "creation", True, False),
    (structure.CONVERSION, "creation", False, False),
    (structure.COMPLEX_PAIRS, "complex_pairs", False, False),
    (structure.TAKING, "indexing", False, False),
    (structure.VALUES, "structure", False, False),
    (structure.INDEXING, "indexing", True, True),
    (structure.ORDER, "structure", True, True),
    (structure.SCATTERING, "scattering", True, True),
    (structure.SEGMENTS, "segments", True, True),
    (structure.REARRANGING, "rearranging", True, True),
    (linear_algebra.PRODUCTS, NUMPY, False, False),
    (linear_algebra.DECOMPOSITIONS, "matrices", False, False),
    (linear_algebra.FOURIER, "spectra", True, False),
    (elementwise.COMPOSED, "elementwise", False, True),
    (elementwise.POWER, "special", False, True),
    (elementwise.QUOTIENTS, "slopes_in_range", True, True),
    (elementwise.STABLE, "neural", True, True),
    (elementwise.SPECIAL, "special", True, True),
    (elementwise.ACTIVATIONS, "activations", True, False),
    (reductions.FUSED, "reductions", True, False),
    (reductions.NAN, "nan_reductions", True, False),
    (reductions.STATISTICS, "statistics", True, False),
    (neural.WINDOWS, "neural", True, False),
    (neural.ATTENTION, "attention", True, False),
    (neural.FOLDING, "unfolding", True, False),
    (neural.NORMALIZATIONS, "normalizations", True, False),
    (neural.LOSSES, "alignments", False, False),
    (image.SAMPLING, "sampling", True, False),
    (image.COLORS, "colors", True, False),
)
"""The rows, in which file their functions are (`Op.home`), whether backends may compile these (`Op.fused`), and whether
Python numbers adapt to arrays (`Op.weak`)."""

_ROW = re.compile(r"([\w.]+)\((.*?)\)(?: -> (.*?))?: (.*)")
_CONTINUED = re.compile(r"\n +")


def read_rows(text: str, home: str, fused: bool, weak: bool) -> dict[str, Op]:
    """Return the ops of a section by name.

    Args:
        text: Rows.
        home: In which file their functions are, as `Op` has it.
        fused: Whether backends may compile them.
        weak: Whether Python numbers take the dtype of the arrays that they meet.

    Raises:
        SyntaxError: If a line is no row.
    """
    rows = {}
    for line in _CONTINUED.sub(" ", text.strip()).splitlines():
        found = _ROW.fullmatch(line)
        if not found:
            raise SyntaxError(f"not a row of the table of ops: {line}")
        name, signature, result, doc = found.groups()
        rows[name] = Op(name, signature, result or "Array", doc, home, fused, weak)
    return rows


OPS = {name: op for section in SECTIONS for name, op in read_rows(*section).items()}
"""Every op by name, in the order of the table."""

ALIASES = {
    "absolute": "abs",
    "amax": "max",
    "amin": "min",
    "bitwise_invert": "bitwise_not",
    "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift",
    "conjugate": "conj",
    "convert_to_numpy": "to_numpy",
    "convert_to_tensor": "asarray",
    "mod": "remainder",
    "hard_swish": "hard_silu",
    "swish": "silu",
    "true_divide": "divide",
}
"""Second names that Keras has for the same function with the same arguments."""

KEYWORDS = {"moments": {"axis": "axes"}}
"""Second names of arguments that an op takes."""
