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

    def scale_for(self, rank: int) -> Numbers:
        """Return the scales in a shape that broadcasts with arrays of so many axes."""
        return (
            self.scale if self.axis is None else self.scale.reshape([-1 if i == self.axis else 1 for i in range(rank)])
        )


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


def round_to_codes(weights: Numbers, axis: int) -> Codes:
    """Return the nearest codes, with a scale for each position of an axis."""
    others = tuple(i for i in range(weights.ndim) if i != axis)
    top = np.abs(weights).max(others, keepdims=True)
    scale = np.where(top == 0, 1, top / np.float32(127)).astype("float32")
    return Codes(np.rint(weights / scale).astype("int8"), scale.reshape(-1), axis)


class Ranges(NamedTuple):
    """The least and the greatest number seen in what a product takes, and in what it gives."""

    taken: tuple[float, float]
    given: tuple[float, float]


class Integers:
    """Which products are of integers, and which weights are stored as such.

    Args:
        products: Whether any are.
        rounds: Whether weights that lie on no grid are rounded.
        ranges: What was seen of each product, by its number.
        observes: Whether to note what each product takes and gives, to measure these.
    """

    def __init__(
        self,
        products: bool = False,
        rounds: bool = False,
        ranges: Mapping[int, Ranges] | None = None,
        observes: bool = False,
    ) -> None:
        self.products = products
        self.rounds = rounds
        self.observes = observes
        self.seen: dict[int, tuple[str, str]] = {}
        """What products take and give, by their numbers."""
        self.written = 0
        """How many products are of integers."""
        self._ranges = dict(ranges or {})
        self._number = 0
        self._codes: dict[int, tuple[Numbers, Codes | None]] = {}

    def matrix(self, graph: Graph, values: str, source: Numbers, axes: Sequence[int], contracted: int) -> str:
        """Write a product with a matrix, ``(..., k) x (k, n)``.

        Args:
            graph: Where to.
            values: The name of the other side.
            source: The weights as they are kept.
            axes: The order of their axes in the matrix, those that are summed over first.
            contracted: How many of them are summed over.
        """
        self._number += 1
        found = self._codes_for(source)
        if self.products and source.dtype == np.float32:
            shared = found is not None and found.axis not in axes[:contracted]
            chosen = found if shared else _by_column(source, contracted, axes) if self.rounds else None
            if chosen is not None:
                return self._integer_matrix(graph, values, _matrix_of(chosen, axes, contracted), self._number)
        depth = int(np.prod([source.shape[axis] for axis in axes[:contracted]]))
        if found is not None and source.size >= _WORTH_IT:
            weights = decode(graph, _matrix_of(found, axes, contracted))
        else:
            turned = np.ascontiguousarray(np.transpose(source, axes)).reshape(depth, -1)
            weights = graph.array(graph.file.call_like(turned, source))
        return self._note(graph, values, graph.add("MatMul", values, weights))

    def convolution(self, graph: Graph, values: str, kernel: Numbers, settings: Mapping[str, Attribute]) -> str:
        """Write a convolution with a kernel ``(out, in, ...)``; of integers only where both sides have known ranges."""
        self._number += 1
        found = self._codes_for(kernel)
        ranges = self._ranges.get(self._number)
        if self.products and kernel.dtype == np.float32 and ranges is not None:
            self.written += 1
            codes = found if found is not None and found.axis in (None, 0) else round_to_codes(kernel, 0)
            return _integer_convolution(graph, values, codes, ranges, settings)
        if found is not None and kernel.size >= _WORTH_IT:
            weights = decode(graph, found._replace(scale=found.scale_for(kernel.ndim)))
        else:
            weights = graph.array(kernel)
        return self._note(graph, values, graph.add("Conv", values, weights, **settings))

    def table(self, graph: Graph, weights: Numbers) -> Codes | None:
        """Return the codes of a table of which rows are looked up."""
        found = self._codes_for(weights) if weights.size >= _WORTH_IT else None
        return found if found is not None and found.axis in (None, weights.ndim - 1) else None

    def _codes_for(self, weights: Numbers) -> Codes | None:
        if id(weights) not in self._codes:  # the array is kept, and so its identity
            self._codes[id(weights)] = weights, on_grid(weights)
        return self._codes[id(weights)][1]

    def _note(self, graph: Graph, values: str, result: str) -> str:
        if self.observes and graph.outer is None:
            self.seen[self._number] = values, result
        return result

    def _integer_matrix(self, graph: Graph, values: str, weights: Codes, number: int) -> str:
        self.written += 1
        codes = graph.array(weights.codes)
        if number not in self._ranges:
            taken, step, zero = graph.add_several(3, "DynamicQuantizeLinear", values)
            scale = graph.add("Mul", step, graph.array(weights.scale.reshape(-1)))
        else:
            size, zero = _step_of(graph, self._ranges[number].taken)
            taken = graph.add("QuantizeLinear", values, graph.array(size), zero)
            scale = graph.array(np.asarray(weights.scale.reshape(-1) * size, "float32"))
        total = graph.cast(graph.add("MatMulInteger", taken, codes, zero), "float32")
        return graph.add("Mul", total, scale)


_WORTH_IT = 1024
"""Elements from which on weights that lie on a grid are stored as integers."""


def decode(graph: Graph, weights: Codes) -> str:
    """Return weights made of their codes; a runtime computes that once, when it loads the file."""
    at = graph.root
    return at.add("Mul", at.cast(at.array(weights.codes), "float32"), at.array(weights.scale))


def _matrix_of(weight_codes: Codes, axes: Sequence[int], contracted: int) -> Codes:
    """Return codes as a matrix, and scales that broadcast with it."""
    shape = weight_codes.codes.shape
    rows, columns = ([shape[axis] for axis in part] for part in (axes[:contracted], axes[contracted:]))
    codes = np.ascontiguousarray(np.transpose(weight_codes.codes, axes)).reshape(int(np.prod(rows)), -1)
    if weight_codes.axis is None:
        return weight_codes._replace(codes=codes)
    by_row = weight_codes.axis in axes[:contracted]
    sizes, part = (rows, axes[:contracted]) if by_row else (columns, axes[contracted:])
    at = list(part).index(weight_codes.axis)
    spread = np.broadcast_to(weight_codes.scale.reshape([-1 if i == at else 1 for i in range(len(sizes))]), sizes)
    return Codes(codes, np.ascontiguousarray(spread.reshape((-1, 1) if by_row else (1, -1))), 0 if by_row else 1)


def _by_column(source: Numbers, contracted: int, axes: Sequence[int]) -> Codes:
    """Return codes with a scale for each position of the last axis that stays; where none does, one for all."""
    staying = list(axes[contracted:])
    if staying:
        return round_to_codes(source, staying[-1])
    top = np.float32(np.abs(source).max() / 127 or 1.0)
    return Codes(np.rint(source / top).astype("int8"), np.array(top), None)


def _step_of(graph: Graph, range_: tuple[float, float]) -> tuple[Numbers, str]:
    """Return what a step of values is that lie in a range, and the code of 0."""
    low, high = min(range_[0], 0.0), max(range_[1], 0.0)
    size = np.array((high - low) / 255 or 1.0, "float32")
    return size, graph.array(np.array(np.clip(np.rint(-low / size), 0, 255), "uint8"))


def _integer_convolution(
    graph: Graph, values: str, kernel: Codes, ranges: Ranges, settings: Mapping[str, Attribute]
) -> str:
    size, zero = _step_of(graph, ranges.taken)
    out_size, out_zero = _step_of(graph, ranges.given)
    taken = graph.add("QuantizeLinear", values, graph.array(size), zero)
    weights = [graph.array(kernel.codes), graph.array(kernel.scale), graph.array(np.zeros(kernel.scale.shape, "int8"))]
    codes = graph.add(
        "QLinearConv", taken, graph.array(size), zero, *weights, graph.array(out_size), out_zero, **settings
    )
    return graph.add("DequantizeLinear", codes, graph.array(out_size), out_zero)
