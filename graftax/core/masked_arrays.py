"""Which arrays have a mask, by their identity: for ops, which keep none, and for `graftax.variables.masks`."""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple


class Entry(NamedTuple):
    """The mask of an array."""

    owner: weakref.ref[Any]
    mask: Any
    calm: bool


entries: dict[int, Entry] = {}
"""By the identity of the array, gone with it. While there are none, no array has a mask: nobody need look closer."""


def entry_of(value: object) -> Entry | None:
    """Return what is noted of an array; None where it has no mask."""
    found = entries.get(id(value))
    return found if found is not None and found.owner() is value else None


def note(value: Any, mask: object, calm: bool) -> None:
    """Note the mask of an array, in place of another one.

    Args:
        value: The array.
        mask: The mask.
        calm: Whether what is hidden is known to be finite.
    """
    if not hasattr(value, "shape") or not value.shape:
        return  # one number has no positions
    key, known = id(value), entries  # at the end of Python, names of modules are gone before the last arrays are

    def forget(owner: weakref.ref[Any]) -> None:
        found = known.get(key)
        if found is not None and found.owner is owner:
            del known[key]

    entries[key] = Entry(weakref.ref(value, forget), mask, calm)


def carry_over(old: object, new: object) -> None:
    """Give the mask of an array to another one, which stands for the same values."""
    if (found := entry_of(old)) is not None:
        note(new, found.mask, found.calm)
