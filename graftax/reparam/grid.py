"""Grids of equal steps that weights are rounded to, and their numbers packed two in a byte."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, get_args

from graftax import ops
from graftax.core.typedefs import Array, Shape
from graftax.reparam.creator import check_choice
from graftax.variables.floating import to_floating

Per = Literal["tensor", "channel"]


checked_per = check_choice(get_args(Per), "scales belong to the tensor or to a channel")
"""Check for what has a scale of its own."""


class Grid(NamedTuple):
    """The numbers ``(code - zero) * scale``, for codes of so many bits."""

    scale: Array
    """What a step is: one number, or one for each index of the last axis."""
    zero: Array | None
    """The code of 0, where codes begin at 0; None where they are the same on both sides of 0."""
    bits: int


def scale_of(value: Array, bits: int, per: Per) -> Array:
    """Return the step of a symmetric grid for the largest magnitudes."""
    axes = None if per == "tensor" else tuple(range(value.ndim - 1))
    value = to_floating(value, "weight")  # half precision has no 65535 steps, and rounds the last of 127 up
    step: Array = ops.max(ops.abs(value), axis=axes) / (2 ** (bits - 1) - 1)
    return step


def safe_divisor(scale: Array) -> Array:
    """Return what to divide by: 1 where all is 0."""
    return ops.where(ops.equal(scale, 0), 1, scale)


def codes_of(value: Array, scale: Array, bits: int) -> Array:
    """Return the nearest numbers of a symmetric grid, as they count; a scale rounded down leads to none outside."""
    most = 2 ** (bits - 1) - 1
    steps = to_floating(value, "weight") / to_floating(safe_divisor(scale), "scale")
    return ops.clip(ops.round(steps), -most, most)


def pack_int4(codes: Array) -> Array:
    """Return integers from -8 to 7, two in a byte, in a row."""
    flat = ops.cast(ops.reshape(codes, (-1,)) + 8, "uint8")
    pairs = ops.reshape(ops.pad(flat, ((0, flat.shape[0] % 2),)), (-1, 2))
    return ops.bitwise_or(pairs[:, 0], ops.left_shift(pairs[:, 1], 4))


def unpack_int4(pairs: Array, shape: Shape) -> Array:
    """Return the integers of `pack_int4`, in their shape."""
    codes = ops.stack([ops.bitwise_and(pairs, 15), ops.right_shift(pairs, 4)], axis=-1)
    return ops.reshape(ops.cast(ops.reshape(codes, (-1,))[: math.prod(shape)], "int8") - 8, shape)
