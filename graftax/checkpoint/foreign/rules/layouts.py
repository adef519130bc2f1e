"""Conversions of layouts that the rules of several libraries use."""

from __future__ import annotations

from math import prod

import numpy as np

from graftax.checkpoint.arrays import HostArray
from graftax.checkpoint.foreign.unit import Choice, Convert
from graftax.core.typedefs import Shape


def identity(x: HostArray) -> HostArray:
    """Return the array unchanged."""
    return x


def transpose(x: HostArray) -> HostArray:
    """Return ``(out, in)`` as ``(in, out)``."""
    if x.ndim != 2:
        raise ValueError("a matrix has two axes")
    return x.T


def channels_last(x: HostArray) -> HostArray:
    """Return a kernel ``(out, in, ...)`` as ``(..., in, out)``."""
    if x.ndim < 3:
        raise ValueError("the kernel of a convolution has three axes or more")
    return np.moveaxis(x, (0, 1), (-1, -2))


def add(x: HostArray, y: HostArray) -> HostArray:
    """Return the sum of two biases, which occur only as a sum."""
    return x + y


def reshape_to(shape: Shape) -> Convert:
    """Return a function that reshapes an array."""

    def reshape(x: HostArray) -> HostArray:
        if x.size != prod(shape):
            raise ValueError("another size")
        return x.reshape(shape)

    return reshape


def single_choice(name: str, convert: Convert = identity, note: str = "") -> tuple[Choice, ...]:
    """Return the single choice for a Variable that is made of one array."""
    return (Choice((name,), convert, note),)
