"""``mask=None`` in a call: what the array carries is none for this layer."""

from __future__ import annotations

from typing import Any

from graftax.core import tree, user_line
from graftax.layers.building import Buildable
from graftax.layers.signature import Signature, signature_of
from graftax.ops.masked_results import copy_array
from graftax.variables import masks
from graftax.variables.calls import CallContext


def take_masks_away(
    layer: Buildable, signature: Signature, args: tuple[Any, ...], kwargs: dict[str, Any], outer: CallContext | None
) -> tuple[tuple[Any, ...], dict[str, Any], bool]:
    """Return the arguments of a call without the masks of arrays whose mask it says to be None; and if it says one.

    The arrays of the caller keep theirs.

    Args:
        layer: The layer.
        signature: That of its `call`.
        args: What it is given.
        kwargs: What it is given by name.
        outer: The call around it. None for none.
    """
    parameters = list(signature.masks.items())
    if "mask" not in signature.positions and "mask" in kwargs and signature.first is not None:
        parameters.append((signature.first, "mask"))
    says_one = False
    for argument, parameter in parameters:
        if parameter not in kwargs and not 0 <= signature.positions.get(parameter, -1) < len(args):
            continue
        says_one = True
        mask = signature.argument_of(parameter, args, kwargs)
        if mask is not None and not isinstance(mask, list | tuple | dict):
            continue
        given = signature.argument_of(argument, args, kwargs) if argument else list(args)  # call(self, *inputs)
        if masks.mask_of(given) is None:
            continue
        if mask is None:
            _warn_if_handed_on(layer, parameter, outer)
        bare = _without(given, mask)
        args, kwargs = signature.put(argument, bare, args, kwargs) if argument else (tuple(bare), kwargs)
    if (
        signature.masks
        and "mask" not in signature.positions
        and not signature.takes_all
        and kwargs.get("mask", 0) is None
    ):
        kwargs = {name: value for name, value in kwargs.items() if name != "mask"}
    return args, kwargs, says_one


def _without(value: Any, mask: Any) -> Any:
    """Return an array, or a structure of arrays, without the masks that are None in a structure of masks."""
    if tree.is_leaf(value):
        carried = masks.mask_of(value) if mask is None else None
        if carried is None:
            return value
        bare = copy_array(value)
        if around := masks.watches.get():
            around[-1].note_taken_away(bare, carried)
        return bare
    leaves = tree.flatten(value)
    parts = [None] * len(leaves) if mask is None else tree.flatten(mask)
    if len(parts) != len(leaves):
        return value  # which is an error of its own
    return tree.rebuild(value, iter([_without(leaf, part) for leaf, part in zip(leaves, parts, strict=True)]))


def _warn_if_handed_on(layer: Buildable, parameter: str, outer: CallContext | None) -> None:
    """Warn, once for a layer, where None may be what the call around was given: an array in it has a mask now."""
    around: Any = None if outer is None or outer.says_masks else outer.layer
    if around is None or "_gx_warned" in vars(layer):
        return
    if type(around).__module__.startswith("graftax.") or not signature_of(type(around).call).masks:
        return
    object.__setattr__(layer, "_gx_warned", True)
    user_line.warn(
        f"{layer._gx_title()} got {parameter}=None for an array that has a mask, in the call of "
        f"{around._gx_title()}, which got no mask itself. None says that all positions count. If {parameter} is only "
        f"handed on, leave it out: self.{layer.name}(x) takes the mask of x. If all are to count, use ops.array(x)"
    )
