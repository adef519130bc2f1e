"""Several small arrays of one dtype in the memory of one: the operations that this takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from graftax.core.typedefs import Array, Shape


class Packing(Protocol):
    """Joins the elements of several arrays in one array, and splits it again."""

    def join(self, parts: Sequence[Array]) -> Array:
        """Join all elements of arrays of one dtype in a row."""
        ...

    def split(self, row: Array, shapes: Sequence[Shape]) -> list[Array]:
        """Return the arrays of these shapes that `join` put in a row; their own memory, where they are concrete."""
        ...
