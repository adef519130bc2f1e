"""The warning where a layer gets a mask, and does not say what becomes of it."""

from __future__ import annotations

from typing import Any

from graftax.core import user_line
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
    elif type(layer).__module__.startswith("graftax."):
        what = "If hidden positions are to count like the others, say so: mask=None in the call."
    else:
        what = f"Set supports_masking = True on the class, or {none}."
    user_line.warn(
        f"the mask of the input of {layer._gx_title()} is dropped: the layer does not say what becomes of it. {what}"
    )


def warn_unfitting(layer: Any, mask: Shape, output: Shape) -> None:
    """Warn, once for a layer, that the mask of its input goes no further, since it is not one of its output.

    Args:
        layer: The layer.
        mask: The shape of the mask.
        output: The shape of the output.
    """
    if layer._gx_warned:
        return
    object.__setattr__(layer, "_gx_warned", True)
    what = "The class has supports_masking = True: define compute_mask(self, inputs, mask), for that of the output."
    if type(layer).__module__.startswith("graftax."):
        what = "Instead: ops.where(mask, x, 0) in place of x, if hidden numbers are not to count; it has no mask."
    user_line.warn(
        f"the mask of the input of {layer._gx_title()} is dropped: it is of shape {mask}, the output is of shape "
        f"{output}, and an axis of the mask has other positions there. {what}"
    )
