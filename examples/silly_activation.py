"""An activation that no library has fused for you: one operation after the other, and compiled as a whole.

Run alone, each operation is a call of its own that reads arrays from memory and writes another. Compiled, all of them
become one loop over the elements. The source stays the same, and so do the numbers.
"""

import os
import statistics
import time

import numpy as np

import graftax as gx
from graftax import ops

FAST = os.environ.get("GRAFTAX_EXAMPLE_FAST") == "1"
LARGE, ROUNDS = (256, 5) if FAST else (1024, 15)


def silly(x):
    """Smooth here, rough there, and of no use to anyone."""
    ramp = ops.maximum(x, 0.1 * x) + 0.5 * ops.abs(x - 1)
    bump = 1 / (1 + ops.square(x) + 0.1 * ops.square(ops.square(x)))
    kink = ops.where(x > 0, ramp * bump, ramp - bump)
    soft = kink / (1 + ops.abs(kink)) + 0.01 * ops.square(kink - x)
    return ops.clip(soft - 0.25 * bump * ramp, -2.0, 2.0) + 0.1 * ops.tanh(x)


class SillyDense(gx.Layer):
    """A layer around it, with weights to learn."""

    def __init__(self, units):
        super().__init__()
        self.units = units

    def build(self, input_shape):
        self.kernel = self.add_weight((input_shape[-1], self.units))
        self.bias = self.add_weight((self.units,), "zeros")

    def call(self, x):
        return silly(ops.matmul(x, self.kernel) + self.bias)


def derivative(x):
    return gx.grad(lambda x: ops.sum(silly(x)))(x)


def gradient(layer):
    """A function of the input that gives the gradient of a loss with respect to the layer's kernel."""
    return lambda x: gx.grad(lambda: ops.mean(layer(x) ** 2), wrt=layer.kernel)()


def race(function, x):
    """The median time of a call in ms, op by op and compiled, measured in turns; both must give the same numbers."""
    contestants = function, gx.jit(function)
    np.testing.assert_allclose(*(contestant(x) for contestant in contestants), rtol=1e-3, atol=1e-5)
    times = [], []
    for _ in range(ROUNDS):
        for contestant, record in zip(contestants, times, strict=True):
            start = time.perf_counter()
            np.asarray(contestant(x))  # waits for the numbers
            record.append(time.perf_counter() - start)
    return [statistics.median(record) * 1e3 for record in times]


gx.set_random_seed(0)
print(f"{'':30s}   op by op    compiled   times faster")
for rows, units in (8, 16), (LARGE, LARGE):
    x = np.random.default_rng(0).normal(size=(rows, units)).astype("float32")
    x, layer = ops.asarray(x), SillyDense(units)
    layer(x)
    print(f"{rows} examples of {units} numbers")
    for name, function in {
        "silly(x)": silly,
        "its derivative": derivative,
        "SillyDense(x)": layer,
        "gradient of its kernel": gradient(layer),
    }.items():
        slow, fast = race(function, x)
        print(f"   {name:27s} {slow:7.2f} ms  {fast:7.2f} ms {slow / fast:14.1f}")
