"""Numbers that have to be known when a program is compiled: sizes, counts, axes, orders; told where one is traced.

Other settings are Python numbers of the program, too, and no gradient comes back from them; told where one may be
asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from graftax.core.errors import CompileError, GradientError
from graftax.core.later import import_later

if TYPE_CHECKING:
    from graftax.core import foreign_errors
else:
    foreign_errors = import_later("graftax.core.foreign_errors")


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


def check_constant(label: str, value: Any) -> None:
    """Raise for a number of which a gradient may be asked for, where it becomes a Python number.

    Args:
        label: What it is for, such as ``"ops.elu: alpha"``.
        value: What was given. What has no dtype passes, whatever it is.

    Raises:
        GradientError: a tape follows it.
        CompileError: its value is not known yet, or it is what a gradient is taken with respect to.

    Example:
        >>> check_constant("ops.elu: alpha", 0.5)
    """
    if not (hasattr(value, "dtype") and hasattr(value, "shape")):
        return
    if any(follows(value) for follows in _followers):
        raise GradientError(
            f"{label} = {value.dtype}{list(value.shape)}, a value that a GradientTape follows",
            "it becomes a Python number of the program, from which no gradient comes back",
            "the formula in ops, such as ops.where(x > 0, x, value * x); or, for a number without a gradient, "
            "'with tape.stop_recording(): number = float(value)'",
        )
    check_known(label, value)
    try:
        float(value)
    except TypeError as error:
        known = foreign_errors.translate(error)
        if isinstance(known, CompileError):
            known.add_context(label)
            raise known from error


_followers: list[Callable[[Any], bool]] = []


def add_follower(follows: Callable[[Any], bool]) -> None:
    """Let a function tell of which values a gradient may be asked for later."""
    _followers.append(follows)


def is_traced(value: object) -> bool:
    """Return True for a value of an array library that cannot be looked at yet."""
    try:
        bool(value)
    except (TypeError, ValueError) as error:
        return isinstance(foreign_errors.translate(error), CompileError)
    return False
