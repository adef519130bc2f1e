"""The net whose checkpoints `benchmarks.checkpoint` measures."""

from collections.abc import Mapping

import jax

import graftax as gx


class Layer(gx.Layer):
    """Ten weights, as layers have some."""

    def __init__(self, values: list[jax.Array]) -> None:
        super().__init__()
        self.weights = [gx.Variable(value) for value in values]


class Net(gx.Layer):
    """All of the arrays, in layers of ten."""

    def __init__(self, values: list[jax.Array]) -> None:
        super().__init__()
        self.blocks = [Layer(values[first : first + 10]) for first in range(0, len(values), 10)]


def net(arrays: Mapping[str, jax.Array]) -> Net:
    """A net of these arrays."""
    return Net(list(arrays.values()))
