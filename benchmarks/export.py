"""Exported programs against the compiled functions that they were made of, how long an export takes, and its bytes.

``python -m benchmarks.export`` prints the table of section 13 of the design: ratios of calls, seconds, kilobytes.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

import graftax as gx
from graftax import layers
from graftax.export import Signature, Spec


class Target(NamedTuple):
    """What is measured, and what it should be."""

    name: str
    found: float
    most: float
    unit: str

    def __str__(self) -> str:
        mark = "" if self.found <= self.most else "  above the target"
        return f"{self.name:<58}{self.found:>9.2f} {self.unit:<3} (at most {self.most:g}){mark}"


def mlp() -> tuple[gx.Model, Any]:
    return gx.Sequential([layers.Dense(256, "relu"), layers.Dense(256, "relu"), layers.Dense(10)]), Spec("batch 64")


def cnn() -> tuple[gx.Model, Any]:
    body = [layers.Conv2D(16, 3, padding="same", activation="relu"), layers.MaxPooling2D(2)]
    return gx.Sequential([*body, layers.Conv2D(32, 3), layers.Flatten(), layers.Dense(10)]), Spec("batch 16 16 3")


class Writer(gx.Model):
    """Two blocks of a language model."""

    def __init__(self, units: int = 64) -> None:
        super().__init__()
        self.table = layers.Embedding(256, units)
        self.blocks = [layers.TransformerEncoder(4 * units, 4) for _ in range(2)]
        self.head = layers.Dense(256)

    def call(self, tokens: Any) -> Any:
        x = self.table(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def writer() -> tuple[gx.Model, Any]:
    return Writer(), Spec("batch time", "int32", (0, 255))


def training_step() -> tuple[dict[str, Signature], Any]:
    model = gx.Sequential([layers.Dense(32, "gelu"), layers.Dropout(0.3), layers.BatchNormalization(), layers.Dense(3)])
    optimizer = gx.optimizers.Adam(gx.optimizers.schedules.CosineDecay(1e-2, 1000))
    loss = gx.losses.SparseCategoricalCrossentropy(from_logits=True)

    def step(x: Any, y: Any) -> Any:
        run = gx.value_and_grad(lambda: loss(y, model(x, training=True)), wrt=model.trainable_variables)
        value, gradients = run()
        optimizer.apply(gradients, model.trainable_variables)
        return value

    model(np.ones((2, 8), "float32"))
    one = Signature(step, Spec("batch 8"), Spec("batch", "int32", (0, 2)), assigns=True)
    return {"step": one}, {"model": model, "optimizer": optimizer}


def call_ratio(folder: Path, model: gx.Model, batch: int, rounds: int) -> float:
    """The time of a call of the artefact over that of the compiled model; the median of interleaved rounds."""
    artefact = gx.export.load(folder)
    spec = artefact.predict.about["inputs"][0]
    x = jax.numpy.asarray(np.random.default_rng(0).normal(size=(batch, *spec["shape"][1:])).astype("float32"))
    compiled = gx.jit(lambda x: model(x, training=False))
    return ratio_of([lambda: artefact.predict(x), lambda: compiled(x)], rounds)


def ratio_of(contestants: list[Callable[[], Any]], rounds: int) -> float:
    """The time of the first over that of the second; the median of interleaved rounds."""
    times: list[list[float]] = [[], []]
    for _ in range(rounds):
        for run, found in zip(contestants, times, strict=True):
            run()
            began = time.perf_counter()
            for _ in range(10):
                jax.block_until_ready(run())
            found.append(time.perf_counter() - began)
    return statistics.median(a / b for a, b in zip(*times, strict=True))


def integers_ratio(folder: Path, rounds: int) -> float:
    """The time of a run of an ONNX file with products of integers over that of the compiled model with fractions."""
    import onnxruntime  # optional, as for the export

    model = gx.Sequential([layers.Dense(1024, "relu"), layers.Dense(1024, "relu"), layers.Dense(1024)])
    x = np.random.default_rng(0).normal(size=(8, 1024)).astype("float32")
    model(x)
    compiled = gx.jit(lambda x: model(x, training=False))
    gx.export.onnx(folder / "int8.onnx", model, x, products="int8", calibration=[x], tolerance=0.5)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = onnxruntime.InferenceSession(folder / "int8.onnx", options)
    contestants: list[Callable[[], Any]] = [lambda: session.run(None, {"x": x}), lambda: compiled(x)]
    return ratio_of(contestants, rounds)


def recurrent() -> tuple[gx.Model, Any]:
    return gx.Sequential([layers.LSTM(64), layers.Dense(10)]), Spec("batch 16 32")


def peer_ratio(folder: Path, make: Callable[[], tuple[gx.Model, Any]], rounds: int, batch: int = 8) -> float:
    """The time of a run of our ONNX file over that of jax2onnx's, in ONNX Runtime with one thread."""
    import jax2onnx  # optional, and heavy
    import onnxruntime

    model, spec = make()
    x = np.random.default_rng(0).normal(size=(batch, *spec.shape[1:])).astype("float32")
    expected = np.asarray(model(x))
    values = {path: jax.numpy.asarray(one) for path, one in gx.state(model).items()}
    gx.export.onnx(folder / "ours.onnx", model, spec, check=False, overwrite=True)
    jax2onnx.to_onnx(
        lambda x: gx.functional_call(model, values, x)[0],
        [jax.ShapeDtypeStruct(jax.export.symbolic_shape(", ".join(map(str, spec.shape))), spec.dtype)],
        return_mode="file",
        output_path=folder / "theirs.onnx",
    )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    sessions = [onnxruntime.InferenceSession(folder / f"{name}.onnx", options) for name in ("ours", "theirs")]
    inputs = [{session.get_inputs()[0].name: x} for session in sessions]
    for session, named in zip(sessions, inputs, strict=True):
        np.testing.assert_allclose(session.run(None, named)[0], expected, rtol=1e-3, atol=1e-4)
    return ratio_of([lambda: sessions[0].run(None, inputs[0]), lambda: sessions[1].run(None, inputs[1])], rounds)


def measure(rounds: int = 31) -> list[Target]:
    """All rows, in order."""
    found = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sizes = {"MLP": (mlp, 5), "CNN": (cnn, 9), "language model": (writer, 30)}
        for title, (make, most) in sizes.items():
            model, spec = make()
            began = time.perf_counter()
            report = gx.export.save(folder / title, model, spec, check=False)
            took = time.perf_counter() - began
            found.append(Target(f"code of the program: {title}", report.signatures["predict"].bytes / 1e3, most, "kB"))
            if title == "MLP":
                for batch in (1, 64):
                    ratio = call_ratio(folder / title, model, batch, rounds)
                    found.append(Target(f"call of the artefact over gx.jit: {title}, batch {batch}", ratio, 1.05, ""))
            if title == "language model":
                found.append(Target("export of two blocks, not compared", took, 2.0, "s"))
                began = time.perf_counter()
                gx.export.onnx(folder / "model.onnx", model, spec, check=False)
                found.append(Target("ONNX of two blocks, not compared", time.perf_counter() - began, 2.0, "s"))
        signatures, roots = training_step()
        report = gx.export.save(folder / "step", signatures, roots=roots, check=False)
        found.append(Target("code of the program: training step", report.signatures["step"].bytes / 1e3, 40, "kB"))
        if find_spec("onnxruntime") is not None:
            found.append(Target("products of integers over gx.jit: 3 × 1024²", integers_ratio(folder, rounds), 0.3, ""))
        if find_spec("jax2onnx") is not None and find_spec("onnxruntime") is not None:
            # jax2onnx 0.17 raises for the language model, and for its blocks alone
            for title, make in {"MLP": mlp, "CNN": cnn, "LSTM": recurrent}.items():
                ratio = peer_ratio(folder, make, rounds)
                found.append(Target(f"our ONNX file over that of jax2onnx: {title}", ratio, 1.0, ""))
        command = [sys.executable, "-m", "graftax", "export", "show", str(folder / "MLP")]
        times = []
        for _ in range(max(3, rounds // 6)):
            began = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            times.append(time.perf_counter() - began)
        found.append(Target("graftax export show", 1e3 * min(times), 120, "ms"))
    return found


if __name__ == "__main__":
    print(*measure(), sep="\n")
    for name in ("onnxruntime", "jax2onnx"):
        if find_spec(name) is None:
            print(f"{name} is not installed: its rows are left out")
