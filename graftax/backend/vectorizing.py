"""What a backend offers that computes a function for all rows of arrays at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from graftax.backend.tracing import Tracing


class Vectorizing(Tracing, Protocol):
    """Functions of rows."""

    def map_rows(self, function: Callable[[Any], Any], rows: object, chunk_size: int | None = None) -> Any:
        """Return the function of each row, computed together, or ``chunk_size`` rows at a time."""
        ...
