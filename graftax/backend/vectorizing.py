"""What a backend offers that computes a function for all rows of arrays at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from graftax.backend.tracing import Tracing
from graftax.core.typedefs import Array


class Vectorizing(Tracing, Protocol):
    """Applies a function to many rows at once."""

    def map_rows(self, function: Callable[[Any], Any], rows: object, chunk_size: int | None = None) -> Any:
        """Return the function of each row, computed together, or ``chunk_size`` rows at a time."""
        ...

    def named_axes(self) -> tuple[str, ...]:
        """Return the names of the axes that maps around this code have given names to, the outermost first."""
        ...

    def sum_over_axes(self, x: Array, names: tuple[str, ...]) -> Array:
        """Return the sum of an array over all that runs beside it along axes of those names; of none, the array."""
        ...
