"""Memo: values computed from Variables, each kept until something that it was computed from changes.

One whose computation itself assigns a Variable is not kept.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, TypeVar

from graftax.core.scopes import ScopeStack

if TYPE_CHECKING:
    from graftax.backend.program import Cell

T = TypeVar("T")


class Computation:
    """What is read and moved while a value is computed, that of values inside it included."""

    __slots__ = ("moved", "read", "settings", "value")

    def __init__(self) -> None:
        self.read: set[Cell] = set()
        self.moved: set[Cell] = set()
        self.settings: dict[Callable[[], Any], Any] = {}
        self.value: Any = None

    def add_to(self, outer: Computation) -> None:
        """Note in another computation that it used this value."""
        outer.read |= self.read
        outer.moved |= self.moved
        outer.settings.update(self.settings)


computations: ScopeStack[Computation] = ScopeStack("computation")
"""Those under way whose values a `Memo` is to keep."""


def read_setting(setting: Callable[[], T]) -> T:
    """Return what the setting is now; a value computed meanwhile is kept only as long as it stays so."""
    value = setting()
    under_way = computations.top
    if under_way is not None:
        under_way.settings[setting] = value
    return value


class Memo:
    """Kept values by a key."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, Computation] = {}

    def value(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return the value kept under the key, or computed now.

        It is kept unless its computation moved a Variable (drew from a random stream, took a power iteration): the
        next read is the next draw, as in eager code.
        """
        # settings are few, and no one tells when one changes: they are compared at each use
        kept = self._kept.get(key)
        if kept is None or any(setting() != seen for setting, seen in kept.settings.items()):
            kept = Computation()
            with computations.entered(kept):  # reads that happen meanwhile say what it depends on
                kept.value = compute()
            if kept.moved:
                self._kept.pop(key, None)
            else:
                self._kept[key] = kept
        outer = computations.top
        if outer is not None:
            kept.add_to(outer)
        return kept.value  # type: ignore[no-any-return]

    def forget(self, cell: Cell) -> None:
        """Forget the values computed from a Variable, which is assigned."""
        for key in [key for key, kept in self._kept.items() if cell in kept.read]:
            del self._kept[key]

    def clear(self) -> None:
        """Forget all."""
        self._kept.clear()
