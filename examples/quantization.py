"""Four bits for each weight: trained for the rounding against rounded afterwards.

Rounding the weights of a trained net to a grid costs accuracy. Training it a little more with the rounding in the
forward pass (`FakeQuant`, whose gradient goes straight through) wins most of that back, and `Int4` then stores exactly
the numbers that were trained, two in a byte.

    python examples/quantization.py
"""

import copy
import os
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

import graftax as gx
from graftax import layers
from graftax.reparam import FakeQuant, Int4

FAST = os.environ.get("GRAFTAX_EXAMPLE_FAST") == "1"
EPOCHS = 1 if FAST else 20

images, labels = load_digits(return_X_y=True)
images = (images.reshape(-1, 8, 8, 1) / 16).astype("float32")
order = np.random.default_rng(0).permutation(len(images))
test, train = np.split(order, [len(images) // 5])
if FAST:
    train = train[:256]

BITS = [4] if FAST else [8, 4, 3]


def train_on(model, rate, epochs):
    loss = gx.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(gx.optimizers.Adam(rate), loss, metrics=["accuracy"])
    model.fit(images[train], labels[train], epochs=epochs, batch_size=32, verbose=0)


def accuracy(model):
    return model.evaluate(images[test], labels[test], verbose=0)["accuracy"]


def kilobytes(model):
    with tempfile.TemporaryDirectory() as folder:
        gx.Checkpoint(model=model).save(Path(folder) / "model")
        return sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file()) / 1024


gx.set_random_seed(0)
model = gx.Sequential(
    [
        layers.Conv2D(8, 3, padding="same", activation="relu"),
        layers.Conv2D(8, 3, padding="same", activation="relu"),
        layers.Conv2D(8, 3, strides=2, activation="relu"),
        layers.Conv2D(8, 3, activation="relu"),
        layers.Flatten(),
        layers.Dense(10),
    ]
)
train_on(model, 2e-3, EPOCHS)
print(f"{'bits':>4} {'rounded afterwards':>19} {'trained with rounding':>22}")
print(f"{32:>4} {accuracy(model):>19.2%}")
for bits in BITS:
    rounded = copy.deepcopy(model)
    gx.graft(rounded, FakeQuant(bits), where="**/kernel", tolerance=1.0)
    before = accuracy(rounded)
    train_on(rounded, 5e-4, max(1, EPOCHS // 3))
    print(f"{bits:>4} {before:>19.2%} {accuracy(rounded):>22.2%}")
    if bits == 4:
        aware = rounded

plain = kilobytes(model)
expected = aware.predict(images[test], verbose=0)
gx.ungraft(aware)
gx.graft(aware, Int4("tensor"), where="**/kernel", tolerance=1e-5)
np.testing.assert_allclose(aware.predict(images[test], verbose=0), expected, atol=1e-3)
print(f"as Int4 it computes the same; its checkpoint has {kilobytes(aware):.1f} KiB instead of {plain:.1f}")
