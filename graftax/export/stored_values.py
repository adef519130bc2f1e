"""What is written for values: an array, or integers where `FakeQuant`, `Int8` or `Int4` leave them on a grid."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from graftax.backend import registry
from graftax.export import run
from graftax.reparam.base import Reparam
from graftax.reparam.fake_quant import FakeQuantizedWeight
from graftax.reparam.grid import Per
from graftax.reparam.quantized import QuantizedWeight
from graftax.variables.graph.node import Node
from graftax.variables.graph.walking import walk
from graftax.variables.initializers import Zeros
from graftax.variables.spec import VariableSpec
from graftax.variables.variable import Variable

Numbers = np.ndarray[Any, Any]


class GridKind(NamedTuple):
    """How the grid of a weight follows from its numbers, as `FakeQuant` is told."""

    bits: int
    """How many numbers the grid has, as a power of 2."""
    per: Per
    """What has a scale of its own."""
    symmetric: bool
    """Whether the grid is the same on both sides of 0."""


class Codes(NamedTuple):
    """What is stored in place of a weight ``(codes - zero) * scale``."""

    codes: Numbers
    """Integers of 8 bits, of 16 where the grid has more; of 4 and fewer two lie in a byte."""
    scale: Numbers
    """What a step is: one number, or one for each index of the last axis."""
    zero: Numbers | None
    """The code of 0; None for 0."""
    kind: GridKind | None = None
    """How the grid follows from other weights; None where it does not follow from the weight alone."""

    @property
    def parts(self) -> dict[str, Numbers]:
        """Return the arrays by name."""
        parts = {"codes": self.codes, "scale": self.scale, "zero": self.zero}
        return {name: one for name, one in parts.items() if one is not None}

    @property
    def bytes(self) -> int:
        """Return how many bytes they take."""
        return sum(one.nbytes for one in self.parts.values())


def codes_of(node: Node | None, value: Numbers) -> Codes | None:
    """Return the codes of what an expression gives; None where these would not give every bit, or save nothing.

    Args:
        node: The expression.
        value: What it gives.

    Example:
        >>> import graftax as gx
        >>> layer = gx.layers.Dense(2, kernel_initializer=[[-1.0, 0.5], [0.25, 2.0]])
        >>> layer.build((2,))
        >>> done = gx.graft(layer, gx.reparam.FakeQuant(8, per="channel"), where="kernel")
        >>> codes_of(layer.kernel, layer.kernel.numpy()).codes.tolist()
        [[-127, 32], [32, 127]]
    """
    for part in walk(node) if isinstance(node, Reparam) else ():
        if isinstance(part, FakeQuantizedWeight | QuantizedWeight):
            found = _on_grid(part, value)
            if found is not None:
                symmetric = isinstance(part, QuantizedWeight) or part.symmetric
                return found._replace(kind=GridKind(part.bits, part.per, symmetric) if part is node else None)
    return None


def round_to_grid(value: Numbers, kind: GridKind) -> tuple[Numbers, Codes | None]:
    """Return a weight as `FakeQuant` would round it, and its codes; None where these would not give every bit.

    Example:
        >>> value, codes = round_to_grid(np.array([[1.0, 0.3]], "float32"), GridKind(8, "tensor", True))
        >>> codes.codes.tolist(), value.astype(float).round(3).tolist()
        ([[127, 38]], [[1.0, 0.299]])
    """
    spec = VariableSpec(shape=value.shape, dtype=value.dtype.name, initializer=Zeros())
    weight = FakeQuantizedWeight(lambda spec: Variable(value), spec, *kind)
    found: Numbers = registry.current().arrays.to_numpy(weight.value)
    return found, codes_of(weight, found)


def describe(value: Numbers, codes: Codes | None = None) -> dict[str, Any]:
    """Return what the manifest says of a value, which may be stored as integers."""
    about = {"dtype": value.dtype.name, "shape": list(value.shape)}
    if codes is None:
        return {**about, "sha256": hashlib.sha256(value.tobytes()).hexdigest()}
    grid = {} if codes.kind is None else {"grid": codes.kind._asdict()}
    return {**about, "integers": {name: describe(one) for name, one in codes.parts.items()}, **grid}


def arrays_of(values: Mapping[str, Numbers], integers: Mapping[str, Codes]) -> dict[str, Numbers]:
    """Return the arrays that are written for values, of which some are stored as integers."""
    found: dict[str, Numbers] = {}
    for name, value in values.items():
        if name in integers:
            found |= {f"{name}/{part}": one for part, one in integers[name].parts.items()}
        else:
            found[name] = value
    return found


def _on_grid(part: FakeQuantizedWeight | QuantizedWeight, value: Numbers) -> Codes | None:
    arrays = registry.current().arrays
    grid = part.grid()
    scale = arrays.to_numpy(arrays.asarray(grid.scale))
    middle = np.asarray(0, scale.dtype)  # the code of 0
    if grid.zero is not None:
        middle = np.asarray(arrays.to_numpy(arrays.asarray(grid.zero)) - 2 ** (grid.bits - 1), scale.dtype)
    steps = np.rint(value.astype(scale.dtype) / np.where(scale == 0, 1, scale)) + middle
    most = 2 ** (grid.bits - 1)
    if not np.all((steps >= -most) & (steps < most)):
        return None
    codes = steps.astype("int8" if grid.bits <= 8 else "int16")
    found = Codes(_pack(codes) if grid.bits <= 4 else codes, scale, None if grid.zero is None else middle)
    about = {"shape": value.shape, "dtype": value.dtype}
    exact = run.numbers(about, *found.parts.values()).tobytes() == value.tobytes()
    return found if exact and found.bytes < value.nbytes else None


def _pack(codes: Numbers) -> Numbers:
    """Return integers from -8 to 7, two in a byte, in a row, as `Int4` has them."""
    flat = (codes.reshape(-1) + 8).astype("uint8")
    pairs: Numbers = np.pad(flat, (0, flat.size % 2)).reshape(-1, 2)
    both: Numbers = pairs[:, 0] | (pairs[:, 1] << 4)
    return both
