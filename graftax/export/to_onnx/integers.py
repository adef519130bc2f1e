"""Weights as integers of 8 bits, and products of integers in place of those of numbers with fractions.

Whatever lies on a grid of at most 255 equal steps around 0, as `Int8` and a trained `FakeQuant` leave it, is stored as
its codes without loss. Values are rounded when the model runs: by the range of that very array, or by the range that
was seen on calibration data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from graftax.export.to_onnx.graph import Graph
from graftax.export.to_onnx.messages import Attribute, Numbers

_MOST = (127, 63, 31, 15, 7, 3, 1)
_CLOSE = 2e-3
"""How far from a whole number a code may be, in steps: half precision rounds no further."""


class Codes(NamedTuple):
    """Integers and what a step is: one number, or one for each position of an axis."""

    codes: Numbers
    scale: Numbers
    axis: int | None


def on_grid(weights: Numbers) -> Codes | None:
    """Return the codes of weights that lie on a grid; None where they do not."""
    if weights.dtype != np.float32 or weights.ndim < 2 or weights.size == 0:
        return None
    magnitude = np.abs(weights)
    axes = [None, weights.ndim - 1, *range(weights.ndim - 1)]
    for axis in axes:
        others = tuple(i for i in range(weights.ndim) if i != axis)
        top = magnitude.max() if axis is None else magnitude.max(others, keepdims=True)
        if not np.all(np.isfinite(top)) or not np.any(top):
            return None
        for most in _MOST:
            scale = np.where(top == 0, 1, top / np.float32(most)).astype("float32")
            steps = weights / scale
            codes = np.rint(steps)
            if np.abs(steps - codes).max() <= _CLOSE:
                return Codes(codes.astype("int8"), scale.reshape(-1) if axis is not None else scale.reshape(()), axis)
    return None


def rounded(weights: Numbers, axis: int) -> Codes:
    """Return the nearest codes, with a scale for each position of an axis."""
    others = tuple(i for i in range(weights.ndim) if i != axis)
    top = np.abs(weights).max(others, keepdims=True)
    scale = np.where(top == 0, 1, top / np.float32(127)).astype("float32")
    return Codes(np.rint(weights / scale).astype("int8"), scale.reshape(-1), axis)


class Integers:
    """Which products are of integers.

    Args:
        products: Whether there are any.
        rounds: Whether weights that lie on no grid are rounded.
        ranges: The least and the greatest number seen in the values of each product, by its number.
        observes: Whether to note the values of all products, to measure these.
    """

    def __init__(
        self,
        products: bool = False,
        rounds: bool = False,
        ranges: Mapping[int, tuple[float, float]] | None = None,
        observes: bool = False,
    ) -> None:
        self.products = products
        self.rounds = rounds
        self.observes = observes
        self.seen: dict[int, str] = {}
        """The values of products that were written as numbers with fractions, by their numbers."""
        self.written = 0
        """How many products are of integers."""
        self._ranges = dict(ranges or {})
        self._number = 0
        self._codes: dict[int, tuple[Numbers, Codes | None]] = {}

    def matrix(self, graph: Graph, values: str, source: Numbers, axes: Sequence[int], contracted: int) -> str | None:
        """Write a product with a matrix, ``(..., k) x (k, n)``; None where it is one of numbers with fractions.

        Args:
            graph: Where to.
            values: The name of the other side.
            source: The weights as they are kept.
            axes: The order of their axes in the matrix, those that are summed over first.
            contracted: How many of them are summed over.
        """
        number, product = self._next(graph, values), (contracted, axes)
        if not self.products or source.dtype != np.float32:
            return None
        found = self._coded(source) or (_by_column(source, *product) if self.rounds else None)
        if found is None or (found.axis is not None and found.axis in axes[:contracted]):
            found = _by_column(source, *product) if self.rounds else None
        if found is None:
            return None
        columns = [source.shape[axis] for axis in axes[contracted:]]
        codes = np.ascontiguousarray(np.transpose(found.codes, axes)).reshape(-1, int(np.prod(columns)))
        scale = found.scale
        if found.axis is not None:
            at = list(axes[contracted:]).index(found.axis)
            lifted = scale.reshape([-1 if i == at else 1 for i in range(len(columns))])
            scale = np.ascontiguousarray(np.broadcast_to(lifted, columns)).reshape(-1)
        self.written += 1
        rounded_values, step, zero = self._rounded(graph, values, number)
        total = graph.add("MatMulInteger", rounded_values, graph.array(codes), zero)
        return _scaled(graph, total, step, scale)

    def convolution(self, graph: Graph, values: str, kernel: Numbers, settings: Mapping[str, Attribute]) -> str | None:
        """Write a convolution with a kernel ``(out, in, ...)``; None where it is one of numbers with fractions."""
        number = self._next(graph, values)
        if not self.products or kernel.dtype != np.float32:
            return None
        found = self._coded(kernel)
        if found is None or found.axis not in (None, 0):
            found = rounded(kernel, 0) if self.rounds else None
        if found is None:
            return None
        self.written += 1
        rounded_values, step, zero = self._rounded(graph, values, number)
        total = graph.add("ConvInteger", rounded_values, graph.array(found.codes), zero, **settings)
        scale = found.scale.reshape([-1] + [1] * (kernel.ndim - 2)) if found.axis is not None else found.scale
        return _scaled(graph, total, step, scale)

    def table(self, weights: Numbers) -> Codes | None:
        """Return the codes of a table of which rows are looked up."""
        found = self._coded(weights) if self.products else None
        return found if found is not None and found.axis in (None, weights.ndim - 1) else None

    def _coded(self, weights: Numbers) -> Codes | None:
        if id(weights) not in self._codes:  # the array is kept, and so its identity
            self._codes[id(weights)] = weights, on_grid(weights)
        return self._codes[id(weights)][1]

    def _next(self, graph: Graph, values: str) -> int:
        self._number += 1
        if self.observes and graph.outer is None:
            self.seen[self._number] = values
        return self._number

    def _rounded(self, graph: Graph, values: str, number: int) -> tuple[str, str | Numbers, str]:
        """Return codes of values, what a step of them is, and which code is 0."""
        if number not in self._ranges:
            codes, step, zero = graph.add_several(3, "DynamicQuantizeLinear", values)
            return codes, step, zero
        low, high = self._ranges[number]
        low, high = min(low, 0.0), max(high, 0.0)
        size = np.array((high - low) / 255 or 1.0, "float32")
        zero = graph.array(np.array(np.clip(np.rint(-low / size), 0, 255), "uint8"))
        return graph.add("QuantizeLinear", values, graph.array(size), zero), size, zero


def _by_column(source: Numbers, contracted: int, axes: Sequence[int]) -> Codes:
    """Return codes with a scale for each position of the last axis that stays; where none does, one for all."""
    staying = list(axes[contracted:])
    if staying:
        return rounded(source, staying[-1])
    top = np.float32(np.abs(source).max() / 127 or 1.0)
    return Codes(np.rint(source / top).astype("int8"), np.array(top), None)


def _scaled(graph: Graph, total: str, step: str | Numbers, scale: Numbers) -> str:
    numbers = graph.cast(total, "float32")
    if isinstance(step, str):
        return graph.add("Mul", numbers, graph.add("Mul", step, graph.array(scale)))
    return graph.add("Mul", numbers, graph.array(np.asarray(scale * step, "float32")))
