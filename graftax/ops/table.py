"""The table of all ops: one row each, from which `graftax.ops` and its stub are made.

The rows are in `graftax.ops.rows`. A row reads ``name(parameters): What it computes.`` or ``name(parameters) -> result:
What it computes.``; a line that is indented continues a row. Each parameter is written with its kind, as in ``axis:
Axes | None = None``; the kinds are explained in `graftax.ops.parameter_kinds`, and a parameter that is written without
one is an ``Operand``. Names of parameters mean nothing. A row stands in the section that says where its function comes
from (`SECTIONS`). A name with a dot is one in a namespace: ``image.resize`` is ``ops.image.resize``.
"""

from __future__ import annotations

import re

from graftax.ops.rows import elementwise, image, linear_algebra, neural, reductions, structure
from graftax.ops.signatures import Op

SECTIONS = (
    (elementwise.UNARY, "numpy", False),
    (elementwise.BINARY, "numpy", True),
    (reductions.PLAIN, "numpy", False),
    (structure.SHAPE, "fused numpy", False),
    (structure.SEQUENCE, "fused numpy", False),
    (structure.FILLED, "fused", False),
    (structure.CONVERSION, "composition", False),
    (structure.VALUES, "composition", False),
    (structure.INDEXING, "fused", True),
    (linear_algebra.PRODUCTS, "numpy", False),
    (linear_algebra.DECOMPOSITIONS, "composition", False),
    (linear_algebra.FOURIER, "fused", False),
    (elementwise.COMPOSED, "composition", True),
    (elementwise.FUSED, "fused", True),
    (elementwise.ACTIVATIONS, "fused", False),
    (reductions.FUSED, "fused", False),
    (reductions.NAN, "fused", False),
    (reductions.STATISTICS, "fused", False),
    (neural.WINDOWS, "fused", False),
    (neural.NORMALIZATIONS, "fused", False),
    (neural.LOSSES, "fused", False),
    (image.IMAGE, "fused", False),
)
"""The rows, where their functions come from (`Op.source`), and whether Python numbers adapt to arrays (`Op.weak`)."""

_ROW = re.compile(r"([\w.]+)\((.*?)\)(?: -> (.*?))?: (.*)")
_CONTINUED = re.compile(r"\n +")


def read_rows(text: str, source: str, weak: bool) -> dict[str, Op]:
    """Return the ops of a section by name.

    Args:
        text: Rows.
        source: Where their functions come from, as `Op` has it.
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
        rows[name] = Op(name, signature, result or "Array", doc, source, weak)
    return rows


OPS = {name: op for section in SECTIONS for name, op in read_rows(*section).items()}
"""Every op by name, in the order of the table."""
