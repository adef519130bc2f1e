"""Masks on their way through transforms: into the function that runs on other arrays, and out again with its results.

A mask belongs to an array object, and a transform runs its function on objects of its own: tracers, rows, carries.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from graftax.backend import registry
from graftax.core import user_line
from graftax.core.typedefs import Array, Shape, unwrap
from graftax.transforms.lifting.outline import arrays_of, order_like
from graftax.variables import masks

if TYPE_CHECKING:
    from graftax.backend.tracing import Tracing


def hand_on(old: Iterable[Any], new: Iterable[Any]) -> None:
    """Give each array the mask of the one that it stands for."""
    if masks.any_set():
        for one, other in zip(old, new, strict=True):
            if one is not other:
                masks.carry_over(one, other)


def masks_of(leaves: Iterable[Any]) -> list[Array | None]:
    """Return the mask of each array as truth values, which a traced function can return; None where it has none."""
    arrays = registry.current().arrays
    found = [masks.mask_of(leaf) for leaf in leaves]
    return [None if mask is None else arrays.asarray(unwrap(mask)).astype("bool") for mask in found]


def set_masks(arrays: Iterable[Any], new_masks: Iterable[Any]) -> None:
    """Give each array its mask, or none."""
    for leaf, mask in zip(arrays, new_masks, strict=True):
        masks.set_mask(leaf, mask)


def broadcast_mask(mask: Array | None, shape: Shape) -> Array | None:
    """Return the mask in a shape that has more axes, all True if there is none; None if it does not fit."""
    numpy = registry.current().arrays.numpy
    if mask is None:
        return numpy.ones(shape, "bool")  # type: ignore[no-any-return]
    have = tuple(mask.shape)
    if have != shape[: len(have)]:
        return None
    spread = mask.reshape((*have, *[1] * (len(shape) - len(have))))
    return numpy.broadcast_to(spread, shape)  # type: ignore[no-any-return]


# --- compiled functions: masks are arguments and results of their own -------------------------------------------------


def flatten_with_masks(transforms: Tracing, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], Any]:
    """Return the leaves of the arguments and the structure of all; masks that arrays carry come after them."""
    leaves, structure = transforms.flatten((args, kwargs))
    # most programs have no masks, and to look at each leaf costs a microsecond
    if not masks.any_set() or all(masks.mask_of(leaf) is None for leaf in leaves):
        return leaves, structure
    return transforms.flatten((args, kwargs, masks_of(leaves)))


def give_masks(
    transforms: Tracing, args: tuple[Any, ...], kwargs: dict[str, Any], masks: Sequence[Array | None] | None = None
) -> tuple[Any, Any]:
    """Return the arguments, carrying the masks that came after them."""
    return (args, kwargs) if masks is None else with_masks(transforms, (args, kwargs), masks)


def with_masks(transforms: Tracing, value: object, masks: Sequence[Any]) -> Any:
    """Return a structure, each array of which carries its mask."""
    set_masks(transforms.flatten(value)[0], masks)
    return value


# --- rows -------------------------------------------------------------------------------------------------------------


def masks_of_rows(name: str, leaves: Sequence[Any], axes: Sequence[int | None] | None = None) -> list[Array | None]:
    """Return for each array the masks of its rows, stacked; None where there is none, or one for all rows.

    Warns of a mask with one truth value for each row, which a row cannot carry.

    Args:
        name: What cuts the arrays, for messages.
        leaves: The arrays, before they are cut.
        axes: Along which axis, None for not at all. Defaults to the first axis of each.
    """
    found = masks_of(leaves) if masks.any_set() else [None] * len(leaves)
    return [
        None if mask is None or axis is None else _cut(name, mask, axis % leaf.ndim)
        for mask, leaf, axis in zip(found, leaves, axes or [0] * len(leaves), strict=True)
    ]


def _cut(name: str, mask: Array, axis: int) -> Array | None:
    if axis >= mask.ndim:
        return None
    if mask.ndim > 1:
        return registry.current().arrays.numpy.moveaxis(mask, axis, 0)  # type: ignore[no-any-return]
    user_line.warn(
        f"an array given to {name} carries a mask of shape {tuple(mask.shape)}, one truth value for each row, which a "
        f"single row cannot carry: it is dropped. Give the mask to {name} as an array of its own, next to the rows."
    )
    return None


class RowMasks:
    """Masks of arrays that `vectorized_map` cuts into rows, or hands to each row as they are.

    Args:
        leaves: The arrays, before they are cut.
        axes: Along which axis each is cut, None for not at all.
        rows: Which have a row for each call, not one for all.
    """

    def __init__(self, leaves: Sequence[Any], axes: Sequence[int | None], rows: Sequence[bool]) -> None:
        self.cut: list[Array] = []
        """Masks that are cut with the rows."""
        self._same: list[Any] = [None] * len(leaves)
        self._places: list[int] = []
        if not masks.any_set():
            return
        stacked = masks_of_rows("vectorized_map", leaves, axes)
        for i, (mask, leaf, axis) in enumerate(zip(stacked, leaves, axes, strict=True)):
            if mask is None:
                whole = masks.mask_of(leaf)
                self._same[i] = (
                    whole if axis is None or (whole is not None and axis % leaf.ndim >= whole.ndim) else None
                )
            elif rows[i]:
                self.cut.append(mask)
                self._places.append(i)
            else:
                self._same[i] = mask[0]

    def hand_on(self, row: list[Any], cut: Sequence[Any]) -> None:
        """Give the arrays of one row their masks, some of them cut."""
        set_masks(row, self._same)
        for i, mask in zip(self._places, cut, strict=True):
            masks.set_mask(row[i], mask)


def set_masks_of_rows(results: Sequence[Any], row_masks: Sequence[Any], axes: Sequence[int | None]) -> None:
    """Give stacked results, whose rows lie along these axes, the masks that the rows had."""
    for result, mask, axis in zip(results, row_masks, axes, strict=True):
        if mask is None or axis is None:
            continue
        if axis % result.ndim < mask.ndim:
            masks.set_mask(result, registry.current().arrays.numpy.moveaxis(mask, 0, axis % result.ndim))
        else:
            user_line.warn(
                f"a result of vectorized_map has a mask of shape {tuple(mask.shape[1:])} in each row and its rows "
                f"along axis {axis}, which is no axis of the mask: it is dropped. Leave out_axes=0, and move the "
                "axis after."
            )


# --- carries of loops -------------------------------------------------------------------------------------------------


class Carry:
    """The carry of a loop: where its start has masks, these are carried, too, as arrays of their own.

    Args:
        name: What the loop is called in messages.
        init: Its start: any structure of arrays.
    """

    def __init__(self, name: str, init: object) -> None:
        self._name = name
        found = masks_of(registry.current().tracing.flatten(init)[0]) if masks.any_set() else []
        self._shapes = {i: tuple(mask.shape) for i, mask in enumerate(found) if mask is not None}
        # a loop carries arrays of fixed shapes: a mask is carried as one, from a start that has it
        whole = (init, [mask for mask in found if mask is not None]) if self._shapes else init
        self.leaves, self.structure = arrays_of(whole)

    def unpack(self, leaves: list[Any]) -> Any:
        """Return what the body gets, of these leaves: with its masks."""
        transforms = registry.current().tracing
        whole = transforms.unflatten(self.structure, leaves)
        if not self._shapes:
            return whole
        carry, found = whole
        flat = transforms.flatten(carry)[0]
        for i, mask in zip(self._shapes, found, strict=True):
            masks.set_mask(flat[i], mask)
        return carry

    def pack(self, value: Any) -> Any:
        """Return what the body returns, as the loop carries it: without a mask, all counts."""
        if not masks.any_set():
            return order_like(self.structure, len(self.leaves), value)
        found = masks_of(registry.current().tracing.flatten(value)[0])
        found += [None] * (max(self._shapes, default=-1) + 1 - len(found))  # another structure, which raises later
        carried = {i: broadcast_mask(found[i], shape) for i, shape in self._shapes.items()}
        if any(mask is not None and carried.get(i) is None for i, mask in enumerate(found)):
            user_line.warn(
                f"the carry of {self._name} comes out of its body with a mask that its start does not have, or that "
                "has another shape there: it is dropped. Keep the mask in the carry as an array of its own, and give "
                "it to layers: layer(x, mask=mask)."
            )
        if not self._shapes:
            return order_like(self.structure, len(self.leaves), value)
        # a layer in the body may have lost its mask, and without one all counts
        ones = [broadcast_mask(None, shape) if carried[i] is None else carried[i] for i, shape in self._shapes.items()]
        return order_like(self.structure, len(self.leaves), (value, ones))
