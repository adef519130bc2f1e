"""Creators and a layer that tests of creation share."""

import numpy as np

from graftax import ops
from graftax.layers.layer import Layer


class Logger:
    """A creator that notes what it sees."""

    def __init__(self, name="", log=None):
        self.name, self.log = name, [] if log is None else log
        self.specs = []

    def __call__(self, next_creator, spec):
        self.specs.append(spec)
        self.log.append(f"enter {self.name}")
        made = next_creator(spec)
        self.log.append(f"exit {self.name}")
        return made

    @property
    def paths(self):
        return [spec.path for spec in self.specs]


class Scale(Layer):
    def build(self, input_shape):
        self.kernel = self.add_weight((input_shape[-1], 2), name="kernel")
        self.bias = self.add_weight((2,), "zeros", name="bias")
        self.moving = self.add_weight((2,), "zeros", name="moving", trainable=False, role="state")

    def call(self, x):
        return ops.matmul(x, self.kernel) + self.bias


X = np.ones((1, 3), "float32")


def identity(next_creator, spec):
    return next_creator(spec)
