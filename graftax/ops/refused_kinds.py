"""Kinds of numbers that an op is not defined for: complex ones without an order, truth values that are no numbers."""

from __future__ import annotations

from typing import Any

from graftax.core.errors import DTypeError


def refuse_kind(op: str, name: str, x: Any, refused: str) -> None:
    """Raise for an array of a kind that an op is not defined for.

    Args:
        op: What asks, for the message.
        name: What the array is called there.
        x: An array or a Python number, of which only a complex one is refused.
        refused: The kind, as ``x.dtype.kind`` has it: ``"c"`` or ``"b"``.

    Raises:
        DTypeError: it is complex, or boolean.
    """
    number = refused == "c" and isinstance(x, complex)
    if number or getattr(getattr(x, "dtype", None), "kind", "") == refused:
        complex_numbers = refused == "c"
        raise DTypeError(
            f"{op}: {name} = {x}" if number else f"{op}: {name} of dtype {x.dtype.name}",
            "complex numbers have no order" if complex_numbers else "True and False are no numbers to compute with",
            f"ops.real({name}), or ops.abs({name})" if complex_numbers else f'ops.cast({name}, "int32")',
        )
