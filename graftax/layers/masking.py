"""How layers take masks, check them, and keep what they hide out of values and gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graftax import ops
from graftax.backend import registry, traced_checks
from graftax.core import tree
from graftax.core.dtypes import is_floating
from graftax.core.errors import ArgumentError, ArgumentTypeError, DTypeError, GraftaxError, ShapeError
from graftax.core.ours import is_ours
from graftax.core.typedefs import Array, unwrap
from graftax.layers import dropped_masks, lost_masks
from graftax.layers.signature import Signature
from graftax.ops.masked_results import copy_array
from graftax.variables import masks

# --- masks that are given --------------------------------------------------------------------------------------------


def as_bool(mask: object, name: str = "mask") -> Array:
    """Return the mask as truth values.

    Raises:
        DTypeError: it holds neither truth values nor integers.
        ArgumentError: an integer is neither 0 nor 1; in compiled code where that is checked.
    """
    arrays = registry.current().arrays
    mask = unwrap(mask)
    given: Any = mask if arrays.is_array(mask) else arrays.asarray(mask)
    if given.dtype.kind == "b":
        return given  # type: ignore[no-any-return]
    if given.dtype.kind not in "iu":
        raise DTypeError(
            f"{name} of dtype {given.dtype.name}",
            "a mask says True where a position counts, or 1",
            f'{name} != 0, or ops.cast({name}, "bool"); what weighs positions goes to fit as sample_weight',
        )
    if arrays.is_concrete(given):
        if (error := _other_numbers(name, arrays.to_numpy(given))) is not None:
            raise error
    elif given.size and traced_checks.is_checking():
        bad = arrays.numpy.any((given != 0) & (given != 1))
        traced_checks.emit(lambda host: _other_numbers(name, host), bad, given)
    return ops.not_equal(given, 0)


def _other_numbers(name: str, host: Any) -> GraftaxError | None:
    other = host[(host != 0) & (host != 1)]
    if not other.size:
        return None
    return ArgumentError(
        f"{name} has the number {other.flat[0]}",
        "a mask says 1 where a position counts, else 0",
        f"{name} > 0 for a mask of what is positive, ops.arange(n) < lengths[:, None] for one of lengths",
    )


def check_mask(mask: object, shape: Sequence[int], axes: int | None = None, name: str = "mask") -> Array:
    """Return the mask as truth values, if it has the first sizes of the array that it belongs to.

    Args:
        mask: What was given.
        shape: The shape of the array.
        axes: How many axes the mask has. Defaults to None, any number from 1.
        name: What the mask is called, for messages. Defaults to ``"mask"``.

    Raises:
        ShapeError: the sizes differ.
    """
    have, least = tuple(np.shape(unwrap(mask))), 1 if axes is None else axes
    most = len(shape) if axes is None else axes
    if not least <= len(have) <= most or have != tuple(shape[: len(have)]):
        wanted = tuple(shape[: axes or max(1, min(len(have), len(shape)))])
        of_samples = 0 < len(have) < len(wanted) and have == wanted[: len(have)]
        rows = f"{name}[:{', None' * (len(wanted) - len(have))}]" if of_samples and len(have) == 1 else name
        raise ShapeError(
            f"{name} of shape {have} for an input of shape {tuple(shape)}",
            "a mask has the first sizes of its input, and is not broadcast",
            f"{name} of shape {wanted}, for example ops.broadcast_to({rows}, {wanted})",
        )
    return as_bool(mask, name)


def for_each(mask: Any, inputs: Any, name: str = "mask") -> Any:
    """Return the mask, or the structure of masks of several inputs, checked; None stays."""
    if tree.is_leaf(inputs):
        return None if mask is None else check_mask(mask, tuple(inputs.shape), name=name)
    count = len(tree.flatten(inputs))
    parts = tree.flatten(mask) if isinstance(mask, list | tuple | dict) else [mask]
    if len(parts) != count:
        raise ArgumentTypeError(
            f"{name} is {'one mask' if tree.is_leaf(mask) else f'{len(parts)} masks'} for {count} inputs",
            "each input has its own mask, or None",
            f"{name}=[first_mask, None]",
        )
    pairs = zip(parts, tree.flatten(inputs), strict=True)
    return tree.rebuild(inputs, iter([for_each(part, x, name) for part, x in pairs]))


def combine_masks(first: Array | None, second: Array | None) -> Array | None:
    """Return True where both masks of one array are, each of its first axes; None is a mask that hides nothing."""
    if first is None or second is None:
        return second if first is None else first
    if first.ndim != second.ndim:
        axes = max(first.ndim, second.ndim)
        first, second = expand_mask(first, axes), expand_mask(second, axes)
    return ops.logical_and(first, second)


# --- what they hide --------------------------------------------------------------------------------------------------


def expand_mask(mask: Array, ndim: int) -> Array:
    """Return the mask with an axis of size 1 for each axis of the array that it has not."""
    return ops.reshape(mask, (*mask.shape, *[1] * (ndim - mask.ndim)))


def hide(x: Array, mask: Array | None) -> Array:
    """Return ``x`` with zeros where the mask hides: no value, and no gradient, comes from there."""
    nothing = False if str(x.dtype) == "bool" else 0
    return x if mask is None else ops.where(expand_mask(mask, x.ndim), x, nothing)


def zero_hidden_nan(x: Array, mask: Array | None) -> Array:
    """Return ``x`` with zeros for nan and infinities where the mask hides, so that they spoil no gradient."""
    if mask is None or not is_floating(x.dtype):
        return x
    return ops.where(ops.logical_or(expand_mask(mask, x.ndim), ops.isfinite(x)), x, 0)


# --- masks on their way through a layer -------------------------------------------------------------------------------


def masks_of_call(signature: Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the masks of a call by parameter: those given, and those that the arrays carry.

    Where the `call` takes no mask, the one of the first argument is called ``mask``.
    """
    found = {}
    for argument, parameter in signature.masks.items():
        mask = signature.argument_of(parameter, args, kwargs)
        found[parameter] = masks.mask_of(signature.argument_of(argument, args, kwargs)) if mask is None else mask
    if not signature.masks:
        mask = kwargs.get("mask")
        found["mask"] = masks.mask_of(signature.argument_of(signature.first, args, kwargs)) if mask is None else mask
    return {name: mask for name, mask in found.items() if mask is not None}


def is_told_none(layer: Any, signature: Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Return whether the caller of a layer that drops masks says ``mask=None``, and so does not ask for the mask.

    The `call` gets the one that the array carries all the same: None may only have been handed on.
    """
    if not masks.any_set() or not _drops_masks(layer):
        return False
    said = {*signature.masks.values(), "mask"}
    return any(
        signature.argument_of(name, args, kwargs) is None
        and (name in kwargs or 0 <= signature.positions.get(name, -1) < len(args))
        for name in said
    )


def by_name(
    layer: Any, signature: Signature, args: tuple[Any, ...], kwargs: dict[str, Any], masks_by_name: dict[str, Any]
) -> dict[str, Any] | None:
    """Return the arguments by name of a call that is given all its masks by name; None where it cannot be."""
    if not signature.masks and _drops_masks(layer):
        return None if "mask" in kwargs else kwargs
    if any(0 <= signature.positions.get(name, -1) < len(args) for name in masks_by_name):
        return None
    return {**layer._gx_named_masks(args, kwargs), **masks_by_name}


def receive_masks(
    layer: Any, signature: Signature, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any], dict[str, Any]]:
    """Return the arguments with the masks that the `call` of a layer takes, and all masks by name.

    Raises:
        ArgumentTypeError: a mask is given to a layer that has no use for it.
    """
    found = masks_of_call(signature, args, kwargs)
    if signature.masks:
        for name, mask in found.items():
            args, kwargs = signature.put(name, mask, args, kwargs)
        return args, kwargs, found
    first = signature.argument_of(signature.first, args, kwargs)
    if "mask" in kwargs and not signature.takes_all:
        given = kwargs["mask"]
        kwargs = {name: value for name, value in kwargs.items() if name != "mask"}
        if "mask" not in found:
            return args, kwargs, found
        if _drops_masks(layer):
            if given is None:
                return args, kwargs, found
            raise unused_mask_error(layer._gx_title())
        found["mask"] = for_each(found["mask"], first)
        first = mark(first, found["mask"])
    elif layer.supports_masking and "mask" in found:
        first = zero_hidden(first)
    else:
        return args, kwargs, found
    return *signature.put(signature.first or "", first, args, kwargs), found


def unused_mask_error(title: str) -> ArgumentTypeError:
    """Return the error for a mask that a layer has no use for."""
    return ArgumentTypeError(
        f"{title} got mask=",
        "its call takes no mask, and it does not say that one passes through it",
        "ops.where(mask[..., None], x, 0) before it; in a layer of one's own def call(self, x, mask=None), or "
        "supports_masking = True on the class where each position is computed on its own",
    )


def with_mask(
    layer: Any,
    out: Any,
    inputs: Any,
    signature: Signature,
    masks_by_name: dict[str, Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    met: bool = False,
    watch: lost_masks.Watch | None = None,
    told_none: bool = False,
) -> Any:
    """Return what a layer returns, carrying the mask that belongs to it, where there is one.

    Args:
        layer: The layer.
        out: What its `call` gave.
        inputs: The first argument of the call.
        signature: That of the `call`.
        masks_by_name: The masks of the call, by name.
        args: What the `call` was given.
        kwargs: What it was given by name.
        met: Whether layers inside were given masks, so that one that is gone was not dropped. Defaults to False.
        watch: What has looked for masks that are lost in the call. Defaults to None, nothing.
        told_none: Whether nobody asks for the mask, as `is_told_none` says. Defaults to False.
    """
    out = _with_own_mask(layer, out, inputs, signature, masks_by_name, met, told_none)
    if watch is not None:
        watch.look(layer, signature, out, masks_by_name, met)
    lost_masks.note_call(layer, signature, masks_by_name, args, kwargs, out)
    return out


def _with_own_mask(
    layer: Any,
    out: Any,
    inputs: Any,
    signature: Signature,
    masks_by_name: dict[str, Any],
    met: bool,
    told_none: bool,
) -> Any:
    if layer._gx_hands_on_masks and not layer._gx_makes_mask:
        return out  # the layers inside have said it
    mask = masks_by_name.get(signature.masks.get(signature.first or "", "mask"))
    if layer._gx_makes_mask or (mask is not None and (layer.supports_masking or not met)):
        ours = is_ours(type(layer))
        made = None if told_none else layer.compute_mask(inputs, mask)
        if not layer._gx_makes_mask:
            made = dropped_masks.drop_unfitting(layer, made, inputs, out)
        elif not ours or layer._gx_asks_for_mask:
            made = _check_made_mask(layer._gx_title(), made, out)
        return pass_on_mask(out, inputs, made, keep=not layer._gx_makes_mask, calm=ours)
    return out


def _drops_masks(layer: Any) -> bool:
    return not layer.supports_masking and not layer._gx_makes_mask


def _check_made_mask(title: str, result: object, out: object) -> Any:
    """Return what a ``compute_mask`` gave, if these are masks for the outputs; a single one is that of the first."""
    leaves, parts = tree.flatten(out), tree.flatten(result)
    if len(parts) > len(leaves):
        raise ArgumentError(
            f"compute_mask of {title} gave {len(parts)} masks for {len(leaves)} outputs",
            "each output has one mask, or None",
            "return a mask for each output, in the structure of what call returns",
        )
    fitting = []
    for leaf, part in zip(leaves, parts, strict=False):
        if part is not None and not (hasattr(part, "shape") and hasattr(part, "dtype")):
            raise ArgumentTypeError(
                f"compute_mask of {title} gave {part!r:.40}",
                "a mask is an array that says True where a position counts",
                "return mask; or None for none",
            )
        name = f"compute_mask of {title}: the mask"
        fitting.append(part if part is None else check_mask(part, np.shape(leaf), name=name))
    return tree.rebuild(result, iter(fitting))


def mark(inputs: Any, mask: Any) -> Any:
    """Return the inputs as arrays of their own that carry the mask: those of the caller carry what they did."""
    if tree.is_leaf(inputs):
        if mask is None:
            return inputs
        fresh = zero_hidden_nan(inputs, mask) if is_floating(inputs.dtype) else copy_array(inputs)
        masks.set_mask(fresh, mask, calm=True)
        return fresh
    pairs = zip(tree.flatten(inputs), tree.flatten(mask), strict=True)
    return tree.rebuild(inputs, iter([mark(x, part) for x, part in pairs]))


def zero_hidden(inputs: object) -> Any:
    """Return the inputs without nan and infinities where their masks hide."""
    if all(masks.is_calm(leaf) for leaf in tree.flatten(inputs)):
        return inputs
    return tree.map_structure(lambda x: x if masks.is_calm(x) else mark(x, masks.mask_of(x)), inputs)


def pass_on_mask(out: object, inputs: object, mask: object, keep: bool, calm: bool) -> Any:
    """Return what a layer returns, carrying its mask, or none; an array that came in keeps its own, and is copied.

    Args:
        out: The output.
        inputs: The first argument of the call.
        mask: The mask of the output, or a structure of masks; None for none.
        keep: Whether a mask that layers inside gave the output stays.
        calm: Whether what is hidden is finite.
    """
    if mask is None and not masks.any_set():
        return out
    leaves = tree.flatten(out)
    parts = [None] * len(leaves) if mask is None else tree.flatten(mask)
    if not keep:
        parts += [None] * (len(leaves) - len(parts))
    came = tree.flatten(inputs)
    theirs = {id(masks.mask_of(leaf)) for leaf in came}  # such a mask no layer inside has made
    for i, (leaf, part) in enumerate(zip(leaves, parts, strict=False)):
        has = masks.mask_of(leaf)
        if has is part or not hasattr(leaf, "shape"):
            continue
        passed_on = any(leaf is one for one in came)
        if keep and has is not None and not passed_on and (part is not None or id(has) not in theirs):
            continue
        if part is None or passed_on:
            leaves[i] = leaf = copy_array(leaf)
        masks.set_mask(leaf, part, calm)
    return leaves[0] if tree.is_leaf(out) else tree.rebuild(out, iter(leaves))
