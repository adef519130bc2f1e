"""Weights on their way: the discriminator of a GAN, saved apart, becomes the backbone of a classifier.

A discriminator that has learned to tell points on a ring of bumps from others knows something about the bumps. Its
body is saved apart, taken into a classifier that is not even built yet, kept as it is while a head is trained, and
handed on as one .safetensors file. The second half does the same from the shell.

    python examples/discriminator_to_classifier.py
"""

import os
import subprocess
import sys
import tempfile

import numpy as np

import graftax as gx
from graftax import layers

FAST = os.environ.get("GRAFTAX_EXAMPLE_FAST") == "1"
STEPS, BATCH, BUMPS = 20 if FAST else 400, 64 if FAST else 256, 8
ANGLES = 2 * np.pi * np.arange(BUMPS) / BUMPS
CENTRES = np.stack([np.cos(ANGLES), np.sin(ANGLES)], axis=1)
rng = np.random.default_rng(0)


def labelled_points(count):
    labels = rng.integers(BUMPS, size=count)
    return (CENTRES[labels] + 0.1 * rng.normal(size=(count, 2))).astype("float32"), labels


def body():
    return gx.Sequential([layers.Dense(64, activation="relu"), layers.Dense(64, activation="relu")])


class GAN(gx.Module):
    def __init__(self):
        self.generator = gx.Sequential([layers.Dense(64, activation="relu"), layers.Dense(2)])
        self.discriminator = gx.Sequential([body(), layers.Dense(1)])
        self.optimizers = {"generator": gx.optimizers.Adam(1e-3), "discriminator": gx.optimizers.Adam(1e-3)}
        self.entropy = gx.losses.BinaryCrossentropy(from_logits=True)
        self.discriminator(self.generator(np.zeros((1, 4), "float32")))

    def losses(self, noise, real):
        fake = self.generator(noise)
        ones, zeros = np.ones((len(real), 1), "float32"), np.zeros((len(real), 1), "float32")
        on_fake, on_real = self.discriminator(fake), self.discriminator(real)
        told = self.entropy(ones, on_real) + self.entropy(zeros, on_fake)
        return {"generator": self.entropy(ones, on_fake), "discriminator": told}

    def step(self, noise, real):
        for name, optimizer in self.optimizers.items():
            variables = getattr(self, name).trainable_variables
            with gx.GradientTape() as tape:
                loss = self.losses(noise, real)[name]
            optimizer.apply(tape.gradient(loss, variables), variables)


def ckpt(*arguments):
    command = [sys.executable, "-m", "graftax", "ckpt", *arguments]
    print("$ graftax ckpt", " ".join(os.path.basename(word) if os.path.isabs(word) else word for word in arguments))
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    print("  " + "\n  ".join(done.stdout.splitlines()[-4:]))


gan = GAN()
train = gx.jit(gan.step)
for _ in range(STEPS):
    train(rng.normal(size=(BATCH, 4)).astype("float32"), labelled_points(BATCH)[0])

with tempfile.TemporaryDirectory() as folder:
    everything, critic = os.path.join(folder, "gan"), os.path.join(folder, "critic")
    gx.Checkpoint(gan=gan).save(everything, step=STEPS)
    gx.Checkpoint(discriminator=gan.discriminator).save(critic)

    # into another network, under another name, before that network is built
    backbone = body()
    classifier = gx.Sequential([backbone, layers.Dense(BUMPS)])
    taken = {"backbone": "discriminator/layers/0"}
    report = gx.Checkpoint(backbone=backbone).restore(critic, map=taken, mode="cover")
    points, labels = labelled_points(1000)
    classifier(points[:1])
    report.assert_consumed()
    print(f"{len(backbone.variables)} weights are those of the discriminator")

    backbone.freeze()
    before = backbone.layers[0].kernel.numpy()
    classifier.compile(
        gx.optimizers.Adam(1e-2), gx.losses.SparseCategoricalCrossentropy(from_logits=True), ["accuracy"]
    )
    classifier.fit(points, labels, epochs=2 if FAST else 20, batch_size=100, verbose=0)
    accuracy = classifier.evaluate(points, labels, verbose=0)["accuracy"]
    print(f"accuracy of a head on a frozen backbone: {accuracy:.2f}")
    np.testing.assert_array_equal(backbone.layers[0].kernel.numpy(), before)

    # the same from the shell: a part, under another path, as a file that every tool opens
    path = {name: os.path.join(folder, name) for name in ("part", "renamed", "backbone.safetensors")}
    ckpt("extract", everything, "--to", path["part"], "--only", "gan/discriminator/layers/0/**")
    names = "backbone=gan/discriminator/layers/0"
    ckpt("rename", path["part"], "--to", path["renamed"], "--map", names)
    ckpt("convert", path["renamed"], "--to", path["backbone.safetensors"], "--only", "backbone/**")
    ckpt("show", path["backbone.safetensors"], "--tree")
    again = body()
    again.build((None, 2))
    gx.checkpoint.load_foreign(path["backbone.safetensors"], again)
    np.testing.assert_array_equal(again.layers[0].kernel.numpy(), before)
    print("Python and the shell agree")
