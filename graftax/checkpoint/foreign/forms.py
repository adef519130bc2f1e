"""What is known of the order of a value's features in torch, which keeps channels first, and what shapes do to it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from graftax.ops.symbolic import Symbolic

Order: TypeAlias = np.ndarray[Any, Any]
"""For each feature here its place there."""


class MadeImage(NamedTuple):
    """Features that a Reshape made an image of, or steps with channels: only what follows tells which of the two.

    Args:
        features: The value that was reshaped.
        order: The order of the features in torch, if it has the channels first.
        is_flat: Whether there is one axis beside the channels, so that it may well be a row of steps.
    """

    features: Symbolic
    order: Order
    is_flat: bool


@dataclass(frozen=True, eq=False)
class Form:
    """What is known of a value.

    Args:
        has_channels: Whether torch has its last axis first, as it has those of images; None where axes were moved.
        order: The order of its last axis, where that differs. Defaults to None, the same.
        is_known: Whether that order is known. Defaults to True.
        images: What it was made of by a Reshape, where it may be an image. Defaults to ().
    """

    has_channels: bool | None = False
    order: Order | None = None
    is_known: bool = True
    images: tuple[MadeImage, ...] = ()

    @property
    def is_told(self) -> bool:
        """Return True if the order of the last axis may differ from that in torch."""
        return self.order is not None or not self.is_known or bool(self.images)

    @property
    def is_plain(self) -> bool:
        """Return True if torch has the same axes in the same order."""
        return self.has_channels is False and not self.is_told


def image_order(sizes: tuple[int, ...]) -> Order:
    """Return the places in torch of the features that make an image of these sizes, channels last."""
    number = np.arange(prod(sizes)).reshape(sizes[-1], *sizes[:-1])
    return np.moveaxis(number, 0, -1).reshape(-1)


def is_same_order(one: Order | None, other: Order | None) -> bool:
    """Return True if both are the same order; None is that of the features here."""
    return one is other or (one is not None and other is not None and np.array_equal(one, other))


def moved(form: Form, axes: tuple[int, ...] | None, keeps_last: bool) -> Form:
    """Return the form of a value whose axes were moved.

    Args:
        form: The form of the value before.
        axes: The axis that each axis was before; None if that is not known.
        keeps_last: Whether the last axis has stayed.
    """
    if keeps_last or form.is_plain:
        return form
    rank = len(axes or ())
    if form.images and axes == (0, *range(2, rank), 1):  # as torch has it, and moved to where channels are here
        return Form(has_channels=True)
    if form.is_told:
        return Form(is_known=False)
    if form.has_channels and rank > 2 and axes == (0, rank - 1, *range(1, rank - 1)):  # to where torch has them
        return Form()
    return Form(has_channels=None)


def reshaped(value: Symbolic, form: Form, shape: Any) -> Form:
    """Return the form of what is made of a value by a Flatten or another change of its shape."""
    before: tuple[Any, ...] = value.shape[1:]
    after = tuple(shape[1:])
    if not before or not after or None in before or None in after:
        return Form() if form.is_plain else Form(is_known=False)
    if before == after:
        return form
    if after[-1] == prod(before) and value.shape[0] in (shape[0], prod(shape[:-1])):  # of each row, or step
        return _flattened(before, form)
    if len(before) == 1 and form.is_known:
        order = image_order(after)
        if form.order is not None:
            return Form(has_channels=True) if np.array_equal(form.order, order) else Form(is_known=False)
        if np.array_equal(order, np.arange(order.size)):
            return Form()
        return Form(images=(MadeImage(value, order, is_flat=len(after) == 2),))
    if before[-1] == after[-1]:  # the places of an image as steps, or the reverse
        return replace(form, has_channels=False)
    return Form() if form.is_plain else Form(is_known=False)


def _flattened(sizes: Any, form: Form) -> Form:
    if form.images or not form.is_known:  # what was made of features is these features again
        return Form(is_known=form.is_known)
    space, features = prod(sizes[:-1]), sizes[-1]
    if form.has_channels is None and space > 1 and features > 1:
        return Form(is_known=False)
    inner = np.arange(features) if form.order is None else form.order
    if form.has_channels and form.order is None:
        order = image_order(tuple(sizes))
    else:
        order = (np.arange(space)[:, None] * features + inner).reshape(-1)
    return Form(order=None if np.array_equal(order, np.arange(order.size)) else order)


def joined(given: list[Symbolic], forms: list[Form], axis: object) -> Form:
    """Return the form of several values, one after the other along an axis."""
    ranks = {value.ndim for value in given}
    if len(ranks) != 1 or not isinstance(axis, int) or any(value.shape[-1] is None for value in given):
        return Form(is_known=not any(form.is_told for form in forms))
    rank = ranks.pop()
    images = tuple(image for form in forms for image in form.images)
    if images:
        alike = all(form.images or form.is_plain for form in forms)
        return Form(images=images) if alike and axis % rank == rank - 1 else Form(is_known=False)
    if axis % rank != rank - 1:
        same = all(is_same_order(form.order, forms[0].order) and form.is_known for form in forms)
        return forms[0] if same else Form(is_known=False)
    if not all(form.is_known for form in forms):
        return Form(is_known=False)
    has_channels = (
        None if any(form.has_channels is None for form in forms) else any(form.has_channels for form in forms)
    )
    if all(form.order is None for form in forms):
        return Form(has_channels)
    parts, begin = [], 0
    for value, form in zip(given, forms, strict=True):
        size = int(value.shape[-1] or 0)
        parts.append(begin + (np.arange(size) if form.order is None else form.order))
        begin += size
    return Form(has_channels, np.concatenate(parts))
