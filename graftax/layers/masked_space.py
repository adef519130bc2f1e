"""Masks over axes of space or time: what they hide from poolings, and what is left of windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graftax import ops
from graftax.core.dtypes import is_floating
from graftax.core.typedefs import Array, unwrap
from graftax.layers.masking import as_bool, check_mask, expand_mask


def over_space(mask: object, x: Array) -> Array:
    """Return a mask of axes of space as one of all of them, with an axis of channels of size 1.

    Args:
        mask: What was given: ``(batch, steps)``, ``(batch, height)``, ``(batch, height, width)``, …
        x: ``(batch, *space, channels)``.

    Raises:
        ShapeError: the mask has other sizes, or no axis of space.
    """
    axes = np.ndim(unwrap(mask))
    found = check_mask(mask, tuple(x.shape), axes if 2 <= axes < x.ndim else x.ndim - 1)
    return ops.broadcast_to(expand_mask(found, x.ndim), (*x.shape[:-1], 1))


def move_mask(mask: Any, x: Array, move: Callable[[Array], Array]) -> Array | None:
    """Return what becomes of a mask where a layer moves, cuts or repeats values; one of whole rows stays.

    Args:
        mask: That of the input, or None.
        x: The input, ``(batch, *space, channels)``.
        move: What is done to values.
    """
    if mask is None or mask.ndim == 1:
        return None if mask is None else as_bool(mask)
    return move(over_space(mask, x))[..., 0]


def lower_hidden(x: Array, seen: Array) -> Array:
    """Return ``x`` with the least value of its dtype where it is hidden, so that a maximum passes it over."""
    kind = str(x.dtype)
    least = -np.inf if is_floating(kind) else False if kind == "bool" else int(np.iinfo(kind).min)
    return ops.where(seen, x, ops.full((), least, kind))


def clear_hidden(pooled: Array, seen: Array) -> Array:
    """Return a pooled array with 0 where all was hidden."""
    return ops.where(seen, pooled, ops.full((), 0, str(pooled.dtype)))
