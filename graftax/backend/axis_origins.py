"""What a backend tells of the axes of arrays: from which other array a function has them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from graftax.core.user_line import Place


class AxisQuestion(NamedTuple):
    """Arrays that a function made, and those of which it asks where their axes come from."""

    marks: Sequence[tuple[Any, int]]
    """Arrays, and how many of their first axes are followed."""
    ends: Sequence[Any]
    """Arrays at which nobody follows them any further."""
    asked: Sequence[Any]


class AxisOrigin(NamedTuple):
    """Where the first axes of an array come from."""

    mark: int
    """The number of the array that has been marked, the last one on the way."""
    op: str
    """The operation that came first after it; ``""`` if it is the array itself."""
    place: Place | None
    """The user's line with that operation."""


class AxisOrigins(Protocol):
    """Where axes come from."""

    def axis_origins(
        self, function: Callable[[list[Any]], AxisQuestion], arrays: Sequence[Any]
    ) -> list[AxisOrigin | None]:
        """Return, for each array asked of, the marked one whose first axes are its own; nothing is computed.

        An axis goes on through operations that keep its positions, one by one. A sum over it, an element of it, or a
        copy of a row along a new axis have none of it.
        """
        ...
