"""A generative adversarial net: two tapes, two optimizers, one step that runs op by op and compiled alike.

The generator turns noise into points, the discriminator tells them from points that lie on a ring of eight bumps. The
step is written as one would explain it (Goodfellow et al. 2014, "Generative Adversarial Nets", arXiv:1406.2661, with
the generator's loss that does not saturate) and `gx.jit` compiles the very same function.

    python examples/gan.py [PICTURE]
"""

import os
import sys
import time

import numpy as np

import graftax as gx
from graftax import layers, ops

FAST = os.environ.get("GRAFTAX_EXAMPLE_FAST") == "1"
STEPS, BATCH, NOISE, BUMPS = 600 if FAST else 3000, 256, 8, 8
ANGLES = 2 * np.pi * np.arange(BUMPS) / BUMPS
CENTRES = np.stack([np.cos(ANGLES), np.sin(ANGLES)], axis=1)
SPREAD = 0.1

rng = np.random.default_rng(0)


def real_points(count):
    points = CENTRES[rng.integers(BUMPS, size=count)] + SPREAD * rng.normal(size=(count, 2))
    return points.astype("float32")


class GAN(gx.Module):
    """The two players, their optimizers and a step of the game."""

    def __init__(self):
        self.generator = gx.Sequential(
            [layers.Dense(64, activation="relu"), layers.Dense(64, activation="relu"), layers.Dense(2)]
        )
        self.discriminator = gx.Sequential(
            [layers.Dense(128, activation="leaky_relu"), layers.Dense(128, activation="leaky_relu"), layers.Dense(1)]
        )
        self.generator_optimizer = gx.optimizers.Adam(3e-4, beta_1=0.5)
        self.discriminator_optimizer = gx.optimizers.Adam(3e-4, beta_1=0.5)
        self.entropy = gx.losses.BinaryCrossentropy(from_logits=True)
        self.discriminator(self.generate(1))  # builds both

    def generate(self, count):
        return self.generator(gx.random.normal((count, NOISE)))

    def step(self, real):
        with gx.GradientTape() as generator_tape, gx.GradientTape() as discriminator_tape:
            fake = self.generate(len(real))
            real_logits, fake_logits = self.discriminator(real), self.discriminator(fake)
            ones, zeros = ops.ones_like(real_logits), ops.zeros_like(fake_logits)
            generator_loss = self.entropy(ones, fake_logits)
            discriminator_loss = self.entropy(ones, real_logits) + self.entropy(zeros, fake_logits)
        for loss, tape, player, optimizer in (
            (generator_loss, generator_tape, self.generator, self.generator_optimizer),
            (discriminator_loss, discriminator_tape, self.discriminator, self.discriminator_optimizer),
        ):
            weights = player.trainable_variables
            optimizer.apply(tape.gradient(loss, weights), weights)
        return generator_loss, discriminator_loss


def distance(points):
    """The energy distance to real points (Székely & Rizzo 2013): 0 if and only if both have the same distribution."""
    real = real_points(len(points))

    def mean(a, b):
        return np.mean(np.linalg.norm(a[:, None] - b[None], axis=-1))

    return 2 * mean(points, real) - mean(points, points) - mean(real, real)


def bumps_reached(points):
    """How many of the bumps have at least a quarter of their share of the points nearby."""
    near = np.linalg.norm(points[:, None] - CENTRES[None], axis=-1) < 3 * SPREAD
    return int(np.sum(near.mean(axis=0) > 0.25 / BUMPS))


# the same game from the same start, op by op and compiled
games = {}
batches = [real_points(BATCH) for _ in range(3)]
for name in ("op by op", "compiled"):
    gx.set_random_seed(1)
    gan = GAN()
    step = gan.step if name == "op by op" else gx.jit(gan.step)
    losses = [[float(loss) for loss in step(batch)] for batch in batches[:-1]]
    start = time.perf_counter()
    losses.append([float(loss) for loss in step(batches[-1])])
    print(f"{name}: a step of {(time.perf_counter() - start) * 1e3:.1f} ms, losses {np.round(losses[-1], 4)}")
    games[name] = losses, [variable.numpy() for variable in gan.variables]
(eager_losses, eager), (compiled_losses, compiled) = games.values()
np.testing.assert_allclose(compiled_losses, eager_losses, rtol=1e-4)
for a, b in zip(compiled, eager, strict=True):
    np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5)
print(f"after {len(batches)} steps both have the same {len(compiled)} Variables")

# play on
generate = gx.jit(lambda: gan.generate(1000))
before = np.asarray(generate())
for number in range(1, STEPS + 1):
    generator_loss, discriminator_loss = step(real_points(BATCH))
    if number % (STEPS // 5) == 0:
        points = np.asarray(generate())
        print(
            f"step {number}: losses {float(generator_loss):.2f} and {float(discriminator_loss):.2f}, "
            f"distance {distance(points):.4f}, bumps {bumps_reached(points)} of {BUMPS}"
        )
print(f"energy distance to the ring: {distance(before):.4f} before, {distance(points):.4f} after")
assert distance(points) < 0.25 * distance(before)

try:
    import matplotlib.pyplot as plt
except ModuleNotFoundError:
    print("no picture without matplotlib")
else:
    plt.switch_backend("agg")
    figure, panels = plt.subplots(1, 3, figsize=(9, 3.2), sharex=True, sharey=True, layout="constrained")
    pictures = {"real": real_points(1000), "before training": before, "generated": points}
    for panel, (title, shown) in zip(panels, pictures.items(), strict=True):
        panel.scatter(*shown.T, s=2)
        panel.set(title=title, aspect="equal", xlim=(-1.5, 1.5), ylim=(-1.5, 1.5))
    path = sys.argv[1] if len(sys.argv) > 1 else "gan.png"
    figure.savefig(path, dpi=120)
    print("picture:", path)
