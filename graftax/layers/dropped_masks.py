"""Masks that go no further than a layer, which warns: it does not say what becomes of them, or they do not fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from graftax.core import tree, user_line
from graftax.core.free_sizes import is_free
from graftax.core.ours import is_ours
from graftax.core.typedefs import Shape
from graftax.layers.signature import signature_of


def warn(layer: Any) -> None:
    """Warn, once for a layer, that the mask of its input goes no further; first of all with what its call suggests."""
    if layer._gx_warned:
        return
    object.__setattr__(layer, "_gx_warned", True)
    none = "define compute_mask(self, inputs, mask)"
    if signature_of(type(layer).call).masks:  # a pooling of its own, most of all
        what = (
            f"Its call takes the mask. If it has used it up, and the output has no such steps, {none} that returns "
            "None; if the output has the same mask, set supports_masking = True on the class."
        )
    elif is_ours(type(layer)):
        what = "If hidden positions are to count like the others, say so: mask=None in the call."
    else:
        what = f"Set supports_masking = True on the class, or {none}."
    user_line.warn(
        f"the mask of the input of {layer._gx_title()} is dropped: the layer does not say what becomes of it. {what}"
    )


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
                _warn_unfitting(layer, shape, sizes)
                kept[i] = None
    return tree.rebuild(mask, iter(kept)) if any(a is not b for a, b in zip(parts, kept, strict=True)) else mask


def _fits(mask: Shape, output: Shape) -> bool:
    pairs = zip(mask, output, strict=False)
    return len(mask) <= len(output) and all(is_free(a) or is_free(b) or a == b for a, b in pairs)


def _warn_unfitting(layer: Any, mask: Shape, output: Shape) -> None:
    """Warn, once for a layer, that a mask of one shape is not one of an output of another."""
    if layer._gx_warned:
        return
    object.__setattr__(layer, "_gx_warned", True)
    what = "The class has supports_masking = True: define compute_mask(self, inputs, mask), for that of the output."
    if is_ours(type(layer)):
        what = "Instead: ops.where(mask, x, 0) in place of x, if hidden numbers are not to count; it has no mask."
    user_line.warn(
        f"the mask of the input of {layer._gx_title()} is dropped: it is of shape {mask}, the output is of shape "
        f"{output}, and an axis of the mask has other positions there. {what}"
    )
