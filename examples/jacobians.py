"""Jacobians without loops: the same numbers as one gradient after the other, many times faster.

Written for one example, computed for the whole batch: the second half compares gradients of single examples.
"""

import os
import time

import numpy as np

import graftax as gx
from graftax import layers, ops

SIZE = 6 if os.environ.get("GRAFTAX_EXAMPLE_FAST") else 12


def seconds(function, repeats=5):
    """The shortest time of a call, after one that compiles."""
    function()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        np.asarray(function())
        times.append(time.perf_counter() - start)
    return min(times)


def f(x):
    return ops.exp(ops.matmul(x, x))


x = ops.asarray(np.random.default_rng(0).normal(size=(SIZE, SIZE)).astype("float32") * 0.1)
gradient_of_one = gx.jit(lambda x, i, j: gx.grad(lambda x: f(x)[i, j])(x))  # compiled, so that the race is fair
vectorised = gx.jit(lambda x: gx.jacobian(f, x))
chunked = gx.jit(lambda x: gx.jacobian(f, x, chunk_size=SIZE))


def loop():
    return np.stack([[np.asarray(gradient_of_one(x, i, j)) for j in range(SIZE)] for i in range(SIZE)])


expected = loop()
np.testing.assert_allclose(vectorised(x), expected, rtol=1e-4, atol=1e-5)
np.testing.assert_allclose(chunked(x), expected, rtol=1e-4, atol=1e-5)
slow, fast = seconds(loop), seconds(lambda: vectorised(x))
print(f"Jacobian of {SIZE}×{SIZE} with respect to {SIZE}×{SIZE}: shape {vectorised(x).shape}")
print(f"   loop of compiled gradients {slow * 1e3:8.2f} ms")
print(f"   vectorised                 {fast * 1e3:8.2f} ms, {slow / fast:.0f} times faster")
print(f"   vectorised, {SIZE} at a time   {seconds(lambda: chunked(x)) * 1e3:8.2f} ms, with {SIZE} times less memory")

# a Hessian, along a direction and as a whole
direction = ops.ones((SIZE, SIZE))
hessian = gx.hessian(lambda x: ops.sum(f(x)), x)
_, along = gx.jvp(gx.grad(lambda x: ops.sum(f(x))), (x,), (direction,))
np.testing.assert_allclose(np.tensordot(hessian, direction, 2), along, rtol=1e-3, atol=1e-3)
print(f"Hessian of {SIZE * SIZE} numbers agrees with a product that never makes it")

# examples of a batch
dense = layers.Dense(3, activation="tanh")
batch = np.random.default_rng(1).normal(size=(64, 5)).astype("float32")
dense(batch)


def gradient(row):
    return gx.grad(lambda: ops.sum(dense(row[None]) ** 2), wrt=dense.kernel)()


one = gx.jit(gradient)
all_at_once = gx.jit(lambda batch: gx.vectorized_map(gradient, batch))
np.testing.assert_allclose(all_at_once(batch), np.stack([one(row) for row in batch]), rtol=1e-4, atol=1e-5)
slow = seconds(lambda: np.stack([one(row) for row in batch]))
fast = seconds(lambda: all_at_once(batch))
print(f"gradients of {len(batch)} single examples: loop {slow * 1e3:.2f} ms, vectorised {fast * 1e3:.2f} ms")
blocks = gx.batch_jacobian(dense, batch, check=True)
print(f"Jacobians of single examples: shape {blocks.shape}")
