"""A small convolutional net reads handwritten digits: train, draw, save, and restore in a fresh process.

    python examples/digits.py [FOLDER]

trains on four fifths of the digits that scikit-learn ships, writes the learning curve and a checkpoint of model,
optimizer and step to FOLDER (default: digits_run), and checks in processes of their own that the checkpoint gives the
same predictions: through the API, through the command line, and on the NumPy backend, where jax is not even imported.
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import graftax as gx
from graftax import layers

FAST = os.environ.get("GRAFTAX_EXAMPLE_FAST") == "1"


def data():
    """Images and labels; the held-out fifth is drawn at random, with a fixed seed."""
    from sklearn.datasets import load_digits  # not needed where a checkpoint is restored

    images, labels = load_digits(return_X_y=True)
    images = (images.reshape(-1, 8, 8, 1) / 16).astype("float32")
    order = np.random.default_rng(0).permutation(len(images))
    test, train = np.split(order, [len(images) // 5])
    if FAST:
        test, train = test[:64], train[:640]  # whole batches: nothing is compiled for a smaller last one
    return (images[train], labels[train]), (images[test], labels[test])


def network():
    return gx.Sequential(
        [
            layers.Conv2D(32, 3, padding="same", activation="relu"),
            layers.BatchNormalization(momentum=0.9),
            layers.MaxPooling2D(2),
            layers.Conv2D(64, 3, padding="same", activation="relu"),
            layers.BatchNormalization(momentum=0.9),
            layers.MaxPooling2D(2),
            layers.Flatten(),
            layers.Dropout(0.4),
            layers.Dense(10),
        ]
    )


def program():
    """What `graftax ckpt restore CHECKPOINT examples/digits.py:program` builds and restores into."""
    model = network()
    model.build_for(np.zeros((1, 8, 8, 1), "float32"))
    return gx.Checkpoint(model=model)


def train(folder):
    (images, labels), (test_images, test_labels) = data()
    gx.set_random_seed(0)
    model = network()
    steps = 2 if FAST else 25
    batches = -(-len(images) // 32)
    optimizer = gx.optimizers.Adam(gx.optimizers.schedules.CosineDecay(3e-3, steps * batches))
    loss = gx.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer, loss, metrics=["accuracy"])
    started = time.perf_counter()
    history = model.fit(images, labels, epochs=steps, validation_data=(test_images, test_labels))
    seconds = time.perf_counter() - started
    model.summary()
    accuracy = model.evaluate(test_images, test_labels, verbose=0)["accuracy"]
    print(f"trained in {seconds:.1f} s; accuracy on the held-out fifth: {accuracy:.2%}")
    assert FAST or accuracy >= 0.985, accuracy

    draw(history.history, folder / "learning_curve.png")
    gx.Checkpoint(model=model, optimizer=optimizer, step=optimizer.iterations).save(
        folder / "checkpoint", overwrite=True
    )
    np.savez(folder / "held_out.npz", images=test_images, logits=model.predict(test_images, verbose=0))


def draw(history, path):
    import matplotlib.pyplot as plt

    plt.switch_backend("agg")
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
    epochs = range(1, len(history["loss"]) + 1)
    for axes, name in ((left, "loss"), (right, "accuracy")):
        axes.plot(epochs, history[name], label="training")
        axes.plot(epochs, history[f"val_{name}"], label="held out")
        axes.set(xlabel="epoch", title=name)
        axes.grid(alpha=0.3)
        axes.legend()
    left.set_yscale("log")
    figure.savefig(path, dpi=120)
    print("learning curve:", path)


def predict(checkpoint, expected):
    """In a fresh process: restore, predict, compare."""
    images, logits = (np.load(expected)[name] for name in ("images", "logits"))
    model = network()
    report = gx.Checkpoint(model=model).restore(checkpoint, only="model/**")
    restored = model.predict(images, verbose=0)  # builds the model; the weights were waiting for that
    report.assert_consumed()
    np.testing.assert_allclose(restored, logits, rtol=1e-4, atol=1e-4)
    backend, jax = gx.backend.current().name, "jax" in sys.modules
    print(f"{checkpoint.name} on {backend}: the same predictions; jax imported: {jax}")


def run(*command, **environment):
    subprocess.run([str(part) for part in command], check=True, env=os.environ | environment)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=Path("digits_run"))
    parser.add_argument("--predict", type=Path, metavar="CHECKPOINT", help="restore this, predict, compare")
    arguments = parser.parse_args()
    folder = arguments.folder
    if arguments.predict:
        predict(arguments.predict, folder / "held_out.npz")
        return
    folder.mkdir(parents=True, exist_ok=True)
    train(folder)
    checkpoint = folder / "checkpoint"
    graftax = (sys.executable, "-m", "graftax", "ckpt")
    run(*graftax, "ls", folder)
    run(sys.executable, __file__, folder, "--predict", checkpoint)
    run(sys.executable, __file__, folder, "--predict", checkpoint, GRAFTAX_BACKEND="numpy")
    # a part of it through the command line: the model without its optimizer
    part = folder / "checkpoint_model"
    run(*graftax, "restore", checkpoint, f"{__file__}:program", "--only", "model/**", "--save", part, "--overwrite")
    run(sys.executable, __file__, folder, "--predict", part)


if __name__ == "__main__":
    main()
