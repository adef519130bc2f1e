"""BaseConstraint: the base of constraints, and the checks of their arguments."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral

from graftax import ops
from graftax.core.errors import ArgumentError
from graftax.core.hyperparameters import is_number
from graftax.core.typedefs import Array
from graftax.core.undefined import undefined_error
from graftax.variables.floating import to_floating
from graftax.variables.graph.structure import Adjustable, show_settings


class BaseConstraint(Adjustable):
    """The base: subclasses define ``__call__(value) -> value``; the repr shows their arguments."""

    def __call__(self, value: Array) -> Array:
        """Return the projected value."""
        raise undefined_error(self, "__call__(value)")

    def __repr__(self) -> str:
        return show_settings(self)


def widen(value: Array) -> Array:
    """Return the weight in at least float32: norms and sums of half precision overflow."""
    return to_floating(value, "weight")


def cast_back(projected: Array, value: Array) -> Array:
    """Return a projected weight in the dtype that the weight had."""
    return ops.cast(projected, value.dtype.name)


def limit(name: str, value: float) -> float:
    """Return a length, from 0 up."""
    if not is_number(value) or not value >= 0:
        raise ArgumentError(f"{name}={value!r}", "a length is a number from 0 up", f"{name}=2.0")
    return float(value)


def axes(axis: int | Sequence[int]) -> int | tuple[int, ...]:
    """Return one axis or several.

    Raises:
        ArgumentError: what was given is neither.
    """
    several = tuple(axis) if isinstance(axis, Sequence) and not isinstance(axis, str) else (axis,)
    if not several or any(isinstance(one, bool) or not isinstance(one, Integral) for one in several):
        raise ArgumentError(
            f"axis={axis!r}", "it is the number of an axis, or several of them", "axis=0 or axis=(0, 1)"
        )
    return tuple(map(int, several)) if isinstance(axis, Sequence) else int(axis)
