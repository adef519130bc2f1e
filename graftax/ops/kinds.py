"""Kinds of numbers that an op is not defined for: complex ones without an order, truth values that are no numbers."""

from __future__ import annotations

from typing import Any

from graftax.core.errors import DTypeError

REFUSED_KINDS = {
    **dict.fromkeys("arctan2 logaddexp argmax argmin top_k hypot clip".split(), "c"),
    **dict.fromkeys("round scatter_add kron".split(), "b"),
}
"""Kinds of dtypes that an op is not defined for, though one of the backends may give something."""


def refuse_kind(op: str, x: Any) -> None:
    """Raise for an array of a kind that an op is not defined for.

    Raises:
        DTypeError: it is complex, or boolean.
    """
    if getattr(getattr(x, "dtype", None), "kind", "") == REFUSED_KINDS[op]:
        complex_numbers = REFUSED_KINDS[op] == "c"
        raise DTypeError(
            f"{op}: x of dtype {x.dtype.name}",
            "complex numbers have no order" if complex_numbers else "True and False are no numbers to compute with",
            "ops.real(x), or ops.abs(x)" if complex_numbers else 'ops.cast(x, "int32")',
        )
