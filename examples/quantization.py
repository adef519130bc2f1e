"""Four bits for each weight: trained for the rounding against rounded afterwards.

Rounding the weights of a trained net to a grid costs accuracy. Training it with the rounding in the forward pass
(`FakeQuant`, whose gradient goes straight through) for its last epochs costs less, and `Int4` then stores exactly the
numbers that were trained, two in a byte. Both nets have the same start and train equally long.

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
EPOCHS, LAST_EPOCHS = (1, 1) if FAST else (20, 6)
LOSS = gx.losses.SparseCategoricalCrossentropy(from_logits=True)

images, labels = load_digits(return_X_y=True)
images = (images.reshape(-1, 8, 8, 1) / 16).astype("float32")
order = np.random.default_rng(0).permutation(len(images))
test, train = np.split(order, [len(images) // 5])
if FAST:
    train = train[:256]

BITS = [4] if FAST else [8, 4, 3]


def train_on(model, rate, epochs):
    model.compile(gx.optimizers.Adam(rate), LOSS, metrics=["accuracy"])
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
plain_model = copy.deepcopy(model)
train_on(plain_model, 5e-4, LAST_EPOCHS)
print(f"{len(test)} images to test with, one of them is {1 / len(test):.2%}")
print(f"{'bits':>4} {'rounded afterwards':>19} {'trained with rounding':>22}")
print(f"{32:>4} {accuracy(plain_model):>19.2%}")
for bits in BITS:
    rounded, aware = copy.deepcopy(plain_model), copy.deepcopy(model)
    for net in (rounded, aware):
        gx.graft(net, FakeQuant(bits), where="**/kernel", tolerance=1.0)
    train_on(aware, 5e-4, LAST_EPOCHS)
    print(f"{bits:>4} {accuracy(rounded):>19.2%} {accuracy(aware):>22.2%}")
    if bits == 4:
        stored = aware

plain = kilobytes(plain_model)
expected = stored.predict(images[test], verbose=0)
gx.ungraft(stored)
gx.graft(stored, Int4("tensor"), where="**/kernel", tolerance=1e-5)
np.testing.assert_allclose(stored.predict(images[test], verbose=0), expected, atol=1e-3)
print(f"as Int4 it computes the same; its checkpoint has {kilobytes(stored):.1f} KiB instead of {plain:.1f}")
