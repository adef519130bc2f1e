"""Modules and arrays that tests of compiled functions share."""

from graftax import ops
from graftax.layers.layer import Layer
from graftax.variables.graph.module import Module


class Box(Module):
    """Takes any attributes."""

    def __init__(self, **attributes):
        for name, value in attributes.items():
            setattr(self, name, value)


class Linear(Layer):
    def build(self, input_shape):
        self.w = self.add_weight((input_shape[-1], 2), "ones", name="w")

    def call(self, x):
        return ops.matmul(x, self.w)
