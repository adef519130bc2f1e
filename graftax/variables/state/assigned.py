"""What eager code has assigned of that which lies over a mesh: several processes ask each other whether all have."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar
from weakref import WeakKeyDictionary

from graftax.variables.state.home import Housed


class Assigned:
    """Counts assignments in eager code, by what they change; compiled functions assign alike in all processes."""

    counts: ClassVar[WeakKeyDictionary[Housed, int]] = WeakKeyDictionary()

    @classmethod
    def note(cls, cell: Housed) -> None:
        """Count one more."""
        cls.counts[cell] = cls.counts.get(cell, 0) + 1

    @classmethod
    def counts_of(cls, cells: Iterable[Housed]) -> dict[Housed, int]:
        """Return how often each of some was assigned, in their order; without those that were not."""
        return {cell: count for cell in cells if (count := cls.counts.get(cell, 0))}

    @classmethod
    def forget(cls, cells: Iterable[Housed]) -> None:
        """Count these from nothing."""
        for cell in cells:
            cls.counts.pop(cell, None)
