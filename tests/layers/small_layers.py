"""Layers that tests of the base class use."""

import numpy as np

import graftax as gx
from graftax import ops

X = np.ones((3, 4), "float32")


class Scale(gx.Layer):
    """One factor per channel."""

    def build(self, input_shape):
        self.factor = self.add_weight((input_shape[-1],), initializer="ones", name="factor")

    def call(self, x):
        return x * self.factor


class Around(gx.Layer):
    """A layer without a training argument around another."""

    def __init__(self, inner, **given):
        super().__init__()
        self.inner, self.given = inner, given

    def call(self, x):
        return self.inner(x, **self.given)


class Mean(gx.Layer):
    """Adds the mean of its input."""

    def call(self, x):
        self.add_loss(ops.mean(x))
        return x * 1.0
