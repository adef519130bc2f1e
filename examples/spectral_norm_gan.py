"""A critic that cannot jump: spectral norm behind every kernel of a GAN's critic, and the same game without.

The generator learns eight bumps on a ring from a hinge loss. Divided by their largest singular values, the critic's
layers stretch no distance, so that its slope cannot exceed `SCALE` by much (Miyato et al. 2018, arXiv:1802.05957).
That of a plain critic grows as it likes. The critic's code knows nothing of it. A ring is easy: a plain critic
teaches it as well, and the table shows what the bound costs or gains.

    python examples/spectral_norm_gan.py
"""

import contextlib
import os

import numpy as np

import graftax as gx
from graftax import layers, ops

FAST = os.environ.get("GRAFTAX_EXAMPLE_FAST") == "1"
STEPS, BATCH, NOISE, BUMPS, SEEDS = 5 if FAST else 1500, 128, 8, 8, range(1 if FAST else 2)
ANGLES = 2 * np.pi * np.arange(BUMPS) / BUMPS
CENTRES = np.stack([np.cos(ANGLES), np.sin(ANGLES)], axis=1)
SPREAD = 0.1


def real_points(rng, count):
    points = CENTRES[rng.integers(BUMPS, size=count)] + SPREAD * rng.normal(size=(count, 2))
    return points.astype("float32")


def network(units, outputs):
    hidden = [layers.Dense(units, activation="leaky_relu") for _ in range(2)]
    return gx.Sequential([*hidden, layers.Dense(outputs)])


def played(seed, normed):
    """How far the generator is from the ring, how many bumps it reaches, and the critic's steepest slope."""
    gx.set_random_seed(seed)
    rng = np.random.default_rng(seed)
    generator, critic = network(64, 2), network(128, 1)
    generator(np.zeros((1, NOISE), "float32"))
    creator = gx.variable_creator_scope(gx.reparam.SpectralNorm(), where="**/kernel")
    with creator if normed else contextlib.nullcontext():
        critic(np.zeros((1, 2), "float32"))
    optimizers = {generator: gx.optimizers.Adam(2e-3, beta_1=0.5), critic: gx.optimizers.Adam(1e-2, beta_1=0.5)}

    def learn(player, loss):
        weights = player.trainable_variables
        optimizers[player].apply(gx.grad(loss, wrt=weights)(), weights)

    def scores(points):
        return SCALE * critic(points, training=True)

    @gx.jit
    def step(real):
        fake = gx.stop_gradient(generate(BATCH))
        learn(
            critic, lambda: ops.mean(ops.maximum(0.0, 1 - scores(real))) + ops.mean(ops.maximum(0.0, 1 + scores(fake)))
        )
        learn(generator, lambda: -ops.mean(scores(generate(BATCH))))

    def generate(count):
        return generator(gx.random.normal((count, NOISE)))

    for _ in range(STEPS):
        step(real_points(rng, BATCH))
    points = np.asarray(generate(1000))
    slopes = gx.grad(lambda x: ops.sum(SCALE * critic(x)))(real_points(rng, 500))
    return distance(points, real_points(rng, 1000)), reached(points), np.linalg.norm(slopes, axis=1).max()


SCALE = 12.0  # the bound of the critic's slope


def distance(points, real):
    """The energy distance (Székely & Rizzo 2013): 0 if and only if both have the same distribution."""

    def mean(a, b):
        return np.mean(np.linalg.norm(a[:, None] - b[None], axis=-1))

    return 2 * mean(points, real) - mean(points, points) - mean(real, real)


def reached(points):
    """How many of the bumps have at least a quarter of their share of the points nearby."""
    near = np.linalg.norm(points[:, None] - CENTRES[None], axis=-1) < 3 * SPREAD
    return int(np.sum(near.mean(axis=0) > 0.25 / BUMPS))


print(f"{'critic':24} {'energy distance':>15} {'bumps of ' + str(BUMPS):>10} {'steepest slope':>15}")
for title, normed in (("plain", False), ("with spectral norm", True)):
    results = [played(seed, normed) for seed in SEEDS]
    for seed, (far, bumps, slope) in zip(SEEDS, results, strict=True):
        print(f"{title + f', seed {seed}':24} {far:>15.4f} {bumps:>10} {slope:>15.2f}")
    assert not normed or max(slope for *_, slope in results) < 1.1 * SCALE
