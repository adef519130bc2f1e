"""Masks over axes of space or time: what they hide from poolings, and what is left of windows."""

from __future__ import annotations

from typing import Any

import numpy as np

from graftax import ops
from graftax.core.dtypes import is_floating
from graftax.core.typedefs import Array
from graftax.layers.masking import as_bool, checked, spread


def over_space(mask: object, x: Array) -> Array:
    """Return a mask of any of the first axes as one of all axes of space, with an axis of channels.

    Args:
        mask: What was given: ``(batch,)``, ``(batch, steps)``, … up to the shape of ``x``.
        x: ``(batch, *space, channels)``.

    Returns:
        ``(batch, *space, 1)``; ``(batch, *space, channels)`` of a mask that has the channels.

    Raises:
        ShapeError: the mask has other sizes.
    """
    found = checked(mask, tuple(x.shape))
    return found if found.ndim == x.ndim else ops.broadcast_to(spread(found, x.ndim), (*x.shape[:-1], 1))


def of_output(seen: Array, mask: Any) -> Array:
    """Return what is left of a mask in space as the mask of the output; one of rows alone stays as it came.

    Args:
        seen: ``(batch, *new_space, 1)`` or with channels, made from what `over_space` gave.
        mask: What `over_space` was given.
    """
    if mask.ndim == 1:
        return as_bool(mask)
    return seen if mask.ndim == seen.ndim else seen[..., 0]


def lowered(x: Array, seen: Array) -> Array:
    """Return ``x`` with the least value of its dtype where it is hidden, so that a maximum passes it over."""
    kind = str(x.dtype)
    least = -np.inf if is_floating(kind) else False if kind == "bool" else int(np.iinfo(kind).min)
    return ops.where(seen, x, ops.full((), least, kind))


def cleared(pooled: Array, seen: Array) -> Array:
    """Return a pooled array with 0 where all was hidden."""
    return ops.where(seen, pooled, ops.full((), 0, str(pooled.dtype)))
