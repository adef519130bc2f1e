"""Numbers that have to be known when a program is compiled: sizes, counts, axes, orders; told where one is traced."""

from __future__ import annotations

from typing import Any

from graftax.core import foreign_errors
from graftax.core.errors import CompileError


def check_known(label: str, value: Any) -> None:
    """Raise for a number, or a list of some, that is computed in a function which is compiled or mapped.

    Args:
        label: What it is for, such as ``"ops.zeros: shape"``.
        value: What was given. What has no dtype passes, whatever it is.

    Raises:
        CompileError: its value is not known yet.

    Example:
        >>> check_known("ops.zeros: shape", (3, 4))
    """
    for one in value if isinstance(value, list | tuple) else (value,):
        if hasattr(one, "dtype") and hasattr(one, "shape") and is_traced(one):
            sizes = list(one.shape)
            raise CompileError(
                f"{label} = {one.dtype}{sizes}, a traced value",
                "a program has fixed sizes, counts and axes, and such a value is only known when it runs",
                "a size from x.shape, or a number from outside of the compiled function (of a closure, or kept on a "
                "Module); the largest that it may be, and a mask: ops.where(ops.arange(100) < n, x, 0.0)",
            )


def is_traced(value: object) -> bool:
    """Return True for a value of an array library that cannot be looked at yet."""
    try:
        bool(value)
    except (TypeError, ValueError) as error:
        return isinstance(foreign_errors.translate(error), CompileError)
    return False
