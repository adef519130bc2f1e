"""Masks that a layer hands on as they came, and that do not fit its output."""

from __future__ import annotations

from typing import Any

import numpy as np

from graftax.core import tree
from graftax.core.free_sizes import is_free
from graftax.core.typedefs import Shape
from graftax.layers import dropped_masks


def drop_unfitting(layer: Any, mask: object, inputs: object, out: object) -> Any:
    """Return the masks of the outputs of a layer that hands on what comes, None for each that is of other positions.

    Args:
        layer: The layer, which warns if there is one.
        mask: What came: a mask, or a structure of masks; None for none.
        inputs: The first argument of the call.
        out: The output.
    """
    if mask is None:
        return None
    parts, leaves = tree.flatten(mask), tree.flatten(out)
    kept = list(parts)
    for i, (part, leaf) in enumerate(zip(parts, leaves, strict=False)):
        if part is not None and hasattr(leaf, "shape"):
            shape, sizes = tuple(np.shape(part)), tuple(leaf.shape)
            if not _fits(shape, sizes) or (layer._gx_mixes_features and len(shape) == getattr(inputs, "ndim", -1)):
                dropped_masks.warn_unfitting(layer, shape, sizes)
                kept[i] = None
    return tree.rebuild(mask, iter(kept)) if any(a is not b for a, b in zip(parts, kept, strict=True)) else mask


def _fits(mask: Shape, output: Shape) -> bool:
    pairs = zip(mask, output, strict=False)
    return len(mask) <= len(output) and all(a == b or is_free(a) or is_free(b) for a, b in pairs)
