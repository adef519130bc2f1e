"""A rule and a module that tests of the base class share."""

import numpy as np

import graftax as gx
from graftax import ops


class Weird(gx.Optimizer):
    """Momentum with a higher power of the gradient."""

    elementwise = True

    def __init__(self, learning_rate=1e-2, beta=0.9, **options):
        super().__init__(learning_rate, **options)
        self.beta = beta

    def create_slots(self, variable):
        return {"momentum": gx.Slot(), "cube": gx.Slot(initializer="zeros")}

    def update(self, gradient, value, slots, step):
        momentum = self.beta * slots.momentum + (1 - self.beta) * gradient
        cube = self.beta * slots.cube + (1 - self.beta) * gradient**3
        direction = momentum + ops.sign(cube) * ops.abs(cube) ** (1 / 3)
        return value - step.learning_rate * direction, {"momentum": momentum, "cube": cube}


class Net(gx.Module):
    def __init__(self):
        super().__init__()
        self.kernel = gx.Variable([[1.0, 2.0], [3.0, 4.0]])
        self.bias = gx.Variable([0.5, -0.5])

    def loss(self):
        return ops.sum((ops.matmul(np.ones((1, 2), "float32"), self.kernel) + self.bias) ** 2)


def ones_like(variables):
    return [np.ones(v.shape, "float32") for v in variables]


def values(module):
    return [v.numpy().copy() for v in module.variables]
