"""Models and artefacts that several tests of export look at."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

import graftax as gx
from graftax import layers
from graftax.export import Signature, Spec

WITHOUT_GRAFTAX = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("graftax", "safetensors", "msgpack", "xxhash", "onnxruntime"):
            raise ModuleNotFoundError(f"{name} is not here", name=name)
sys.meta_path.insert(0, Refuse())
sys.path.insert(0, sys.argv[1])
import run, numpy as np
"""
"""The first lines of a program that has an artefact, and neither graftax nor what else it needs."""


def net() -> gx.Sequential:
    gx.random.set_random_seed(0)
    model = gx.Sequential([layers.Dense(8, activation="relu"), layers.Dropout(0.5), layers.Dense(2)])
    model(np.ones((1, 3), "float32"))
    return model


def numbers(*shape: int, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


class Trained:
    """A model with batch normalization and dropout, an optimizer with a schedule, and the step that trains it."""

    def __init__(self) -> None:
        gx.random.set_random_seed(1)
        self.net = gx.Sequential(
            [layers.Dense(8, activation="gelu"), layers.Dropout(0.3), layers.BatchNormalization(), layers.Dense(3)]
        )
        self.optimizer = gx.optimizers.Adam(gx.optimizers.schedules.CosineDecay(1e-2, 100))
        loss = gx.losses.SparseCategoricalCrossentropy(from_logits=True)

        @gx.jit
        def step(x: Any, y: Any) -> Any:
            run = gx.value_and_grad(lambda: loss(y, self.net(x, training=True)), wrt=self.net.trainable_variables)
            value, gradients = run()
            self.optimizer.apply(gradients, self.net.trainable_variables)
            return value

        self.step = step
        self.x, self.y = numbers(16, 4), np.random.default_rng(0).integers(0, 3, 16).astype("int32")
        self.net(self.x)
        step(self.x, self.y)

    def signatures(self) -> dict[str, Signature]:
        return {
            "predict": Signature(self.net, Spec("batch 4")),
            "train_step": Signature(self.step, Spec("batch 4"), Spec("batch", "int32", (0, 2)), assigns=True),
        }

    def save(self, path: Path, **options: Any) -> Any:
        return gx.export.save(path, self.signatures(), roots={"net": self.net, "optimizer": self.optimizer}, **options)


def run_alone(program: str, *arguments: Any) -> str:
    """What a program prints that runs in a process of its own, where there is no graftax."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_GRAFTAX + program, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**__import__("os").environ, "PYTHONPATH": ""},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
