"""Which positions of an array count: a mask, kept with the array for as long as that lives.

A mask belongs to an array object. Layers hand it on whenever they make another array of one: by a cast, by a copy from
NumPy, by what they compute. It is found wherever the array is, inside and outside of layers, eagerly and while tracing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from graftax.core import masked_arrays, tree

entries = masked_arrays.entries
carry_over = masked_arrays.carry_over
_entry = masked_arrays.entry_of

watches: ContextVar[tuple[Any, ...]] = ContextVar("watched masks", default=())
"""What looks for masks that get lost in calls of the user's; innermost last. A scope would cost each call more."""


@contextmanager
def watched_by(watch: object) -> Iterator[None]:
    """Let an object watch the masks that are made in this block."""
    outer = watches.set((*watches.get(), watch))
    try:
        yield
    finally:
        watches.reset(outer)


def any_set() -> bool:
    """Return True if some array has a mask: a quick look, for those who would look at each array otherwise."""
    return bool(entries)


def mask_of(value: object) -> Any:
    """Return the mask of an array, or the structure of masks of a structure of arrays; None where there is none."""
    if not entries:
        return None
    if tree.is_leaf(value):
        found = _entry(value)
        return None if found is None else found.mask
    masks = tree.map_structure(mask_of, value)
    return masks if any(mask is not None for mask in tree.flatten(masks)) else None


def mask_or_carried(mask: object, value: object) -> Any:
    """Return the mask that was given, else the one that an array carries; None for a structure of arrays."""
    return mask_of(value) if mask is None and tree.is_leaf(value) else mask


def is_calm(value: object) -> bool:
    """Return True for an array without a mask, or one that has no nan and no infinity where its mask hides."""
    found = _entry(value)
    return found is None or found.calm


def set_mask(value: Any, mask: object, calm: bool = False) -> None:
    """Give an array (or each of a structure) its mask, in place of another one; None changes nothing.

    Args:
        value: The array, or a structure of arrays.
        mask: The mask, or a structure of masks and None.
        calm: Whether what is hidden is known to be finite. Defaults to False.
    """
    if mask is None:
        return
    if not tree.is_leaf(value):
        for leaf, part in zip(tree.flatten(value), tree.flatten(mask), strict=False):
            set_mask(leaf, part, calm)
        return
    masked_arrays.note(value, mask, calm)
    if around := watches.get():
        around[-1].note_made(value, mask)
