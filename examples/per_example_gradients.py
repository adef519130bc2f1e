"""Gradients of single examples, all at once: which examples pull hardest, and training with clipped ones (DP-SGD).

`gx.vectorized_map` runs a function that is written for one example on a whole batch. The gradient of each example
appears in it as if there were no other; dropout draws its own mask for each. The clipped mean with noise is the step of
Abadi et al. 2016, "Deep Learning with Differential Privacy" (arXiv:1607.00133).
"""

import time

import numpy as np

import graftax as gx
from graftax import layers, ops

CLIP, NOISE, BATCH, STEPS = 1.0, 0.3, 64, 150

gx.set_random_seed(0)
rng = np.random.default_rng(0)
points = rng.normal(size=(512, 2)).astype("float32")
labels = (points[:, 0] * points[:, 1] > 0).astype("float32")  # the checkerboard of four quadrants
labels[:8] = 1 - labels[:8]  # eight of them are wrong

model = gx.Sequential([layers.Dense(32, activation="tanh"), layers.Dropout(0.1), layers.Dense(1)])
model(points[:1])
weights = model.trainable_variables
optimizer = gx.optimizers.Adam(0.03)


def loss_of_one(x, y, training):
    logit = model(x[None], training=training)[0, 0]
    return ops.maximum(logit, 0) - logit * y + ops.log(1 + ops.exp(-ops.abs(logit)))


def gradients_of_each(xs, ys, training=False, chunk_size=None):
    gradient = gx.grad(loss_of_one, wrt=weights)
    return gx.vectorized_map(lambda example: gradient(*example, training), (xs, ys), chunk_size=chunk_size)


def norms(gradients):
    return ops.sqrt(sum(ops.sum(ops.reshape(g, (len(g), -1)) ** 2, axis=1) for g in gradients))


@gx.jit
def step(xs, ys):
    gradients = gradients_of_each(xs, ys, training=True)
    scale = ops.minimum(CLIP / (norms(gradients) + 1e-6), 1.0)
    means = []
    for gradient in gradients:
        clipped = ops.einsum("i,i...->...", scale, gradient)
        means.append((clipped + NOISE * CLIP * gx.random.normal(clipped.shape)) / len(xs))
    optimizer.apply(means, weights)


# the same numbers as one gradient after the other
together = gx.jit(lambda xs, ys: gradients_of_each(xs, ys, chunk_size=5))(points[:16], labels[:16])
gradient = gx.jit(lambda x, y: gx.grad(loss_of_one, wrt=weights)(x, y, False))
loop = [gradient(x, y) for x, y in zip(points[:16], labels[:16], strict=True)]
for found, expected in zip(together, zip(*loop, strict=True), strict=True):
    np.testing.assert_allclose(found, np.stack(expected), rtol=1e-4, atol=1e-5)

step(points[:BATCH], labels[:BATCH])  # compiles
start = time.perf_counter()
for _ in range(STEPS):
    chosen = rng.choice(len(points), BATCH, replace=False)
    step(points[chosen], labels[chosen])
seconds = time.perf_counter() - start

accuracy = np.mean((np.asarray(gx.jit(model)(points)[:, 0]) > 0) == (labels > 0.5))
sizes = gx.jit(lambda xs, ys: norms(gradients_of_each(xs, ys)))(points, labels)
hardest = np.argsort(np.asarray(sizes))[::-1][:8]
print(f"{STEPS} private steps of {seconds / STEPS * 1e3:.1f} ms, accuracy {accuracy:.3f}")
print(f"of the 8 examples with the largest gradients {np.sum(hardest < 8)} are the ones with wrong labels: {hardest}")
assert accuracy > 0.85
assert np.sum(hardest < 8) >= 4
