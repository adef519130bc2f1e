"""A recurrent network written by hand: its loop in eager Python, and the same loop as one compiled scan.

The cell reads weights, draws a dropout mask at each step and, in training, keeps a moving average in a Variable. Both
loops give the same numbers, gradients and averages; the scan is traced once, whatever the length.
"""

import time

import numpy as np

import graftax as gx
from graftax import layers, ops

LENGTH, BATCH, UNITS = 10, 32, 32


class Cell(gx.Layer):
    """h' = tanh(W x + U dropout(h)), with a moving average of the size of h."""

    def __init__(self, units):
        super().__init__()
        self.units = units
        self.inner = layers.Dense(units)
        self.outer = layers.Dense(units, use_bias=False, kernel_initializer="orthogonal")
        self.dropout = layers.Dropout(0.1, seed=1)

    def build(self, input_shape):
        self.size = self.add_weight((), "zeros", "size", trainable=False, role="state")

    def call(self, x, h, training=False):
        h = ops.tanh(self.inner(x) + self.outer(self.dropout(h)))
        if training:
            self.size.assign(0.99 * self.size + 0.01 * ops.mean(ops.abs(h)))
        return h


gx.set_random_seed(0)
cell, readout = Cell(UNITS), layers.Dense(1)


def by_python(xs):
    h = ops.zeros((xs.shape[1], UNITS))
    for x in xs:
        h = cell(x, h, training=True)
    return readout(h)


def by_scan(xs):
    def step(h, x):
        return cell(x, h, training=True), None

    h, _ = gx.scan(step, ops.zeros((xs.shape[1], UNITS)), xs)
    return readout(h)


def data(rng):
    """Two numbers among noise are marked; their sum is to be found (the adding problem)."""
    values, marks = rng.uniform(size=(LENGTH, BATCH)), np.zeros((LENGTH, BATCH))
    for column in range(BATCH):
        marks[rng.choice(LENGTH, 2, replace=False), column] = 1
    return np.stack([values, marks], -1).astype("float32"), (values * marks).sum(0)[:, None].astype("float32")


rng = np.random.default_rng(0)
xs, ys = data(rng)
gx.jit(by_scan)(xs)  # builds
model = [*cell.trainable_variables, *readout.trainable_variables]
state = [*cell.variables]
before = [v.numpy().copy() for v in state]


def loss(forward, xs, ys):
    return ops.mean((forward(xs) - ys) ** 2)


results = []
for run in (by_python, gx.jit(by_scan)):
    for variable, value in zip(state, before, strict=True):
        variable.assign(value)
    value, gradients = gx.value_and_grad(lambda xs, ys, run=run: loss(run, xs, ys), wrt=model)(xs, ys)
    results.append([value, *gradients, cell.size.value])
for a, b in zip(*results, strict=True):
    np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)
print("value, gradients and moving average of both loops agree")

optimizer = gx.optimizers.Adam(5e-3)


@gx.jit
def train(xs, ys):
    value, gradients = gx.value_and_grad(lambda: loss(by_scan, xs, ys), wrt=model)()
    optimizer.apply(gradients, model)
    return value


first, start = float(train(xs, ys)), time.perf_counter()
losses = [float(train(*data(rng))) for _ in range(150)]
print(f"loss {first:.3f} -> {np.mean(losses[-20:]):.3f}; {(time.perf_counter() - start) / 150 * 1e3:.1f} ms a step")
assert np.mean(losses[-20:]) < first
