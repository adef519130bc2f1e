"""BaseConstraint: the base of constraints, and the checks of their arguments."""

from __future__ import annotations

from collections.abc import Sequence

from graftax.errors import ArgumentError
from graftax.keywords import Constructed
from graftax.typedefs import Array


class BaseConstraint(Constructed):
    """The base: subclasses define ``__call__(value) -> value``; the repr shows their arguments."""

    def __call__(self, value: Array) -> Array:
        """The projected value."""
        raise TypeError(f"{type(self).__name__} must define __call__(value)")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"


def limit(name: str, value: float) -> float:
    """A length, from 0 up."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
        raise ArgumentError(f"{name}={value!r}", "a length is a number from 0 up", f"{name}=2.0")
    return float(value)


def axes(axis: int | Sequence[int]) -> int | tuple[int, ...]:
    """One axis or several."""
    return axis if isinstance(axis, int) else tuple(axis)
