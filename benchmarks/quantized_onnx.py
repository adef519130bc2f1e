"""Size, speed and error of integers in ONNX files: ``python -m benchmarks.quantized_onnx [--write]``.

It needs onnxruntime. Each net is trained a little, written in several forms, and run on one thread; the forms take
turns, so that a slow moment of the machine hits all alike. The error is the largest difference from the net on rows
that were not used for calibration, relative to the largest output; of the last form, from the net with its rounding in
training.
"""

import copy
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import graftax as gx
from graftax import layers, reparam

PAGE = Path(__file__).parents[1] / "docs" / "export_onnx.md"
MARKS = ("<!-- begin: what python -m benchmarks.quantized_onnx prints -->", "<!-- end -->")
BATCHES = (1, 8, 64)


class Net(NamedTuple):
    """A net, and inputs for it."""

    name: str
    make: Callable[[], gx.Model]
    inputs: np.ndarray


class Row(NamedTuple):
    """One form of a net: bytes, microseconds for each of `BATCHES`, error, and how many answers are the same."""

    net: str
    form: str
    bytes: int
    microseconds: tuple[float, ...]
    error: float
    same: float


def nets(tiny: bool = False) -> list[Net]:
    """The three nets of the table, or small ones."""
    rng = np.random.default_rng(0)
    wide, rows, image = (32, 96, (8, 8)) if tiny else (1024, 512, (32, 32))

    def mlp() -> gx.Model:
        return gx.Sequential([*(layers.Dense(wide, "relu") for _ in range(3)), layers.Dense(10)])

    def cnn() -> gx.Model:
        kinds = [8, 8] if tiny else [32, 64]
        blocks = [layers.Conv2D(n, 3, padding="same", activation="relu") for n in kinds]
        last = layers.Conv2D(2 * kinds[-1], 3, padding="same", activation="relu")
        return gx.Sequential([*blocks, layers.MaxPooling2D(2), last, layers.GlobalAveragePooling2D(), layers.Dense(10)])

    def transformer() -> gx.Model:
        width, heads = (32, 2) if tiny else (256, 4)
        blocks = [layers.TransformerEncoder(4 * width, heads) for _ in range(2)]
        return gx.Sequential(
            [layers.Embedding(1000, width), *blocks, layers.GlobalAveragePooling1D(), layers.Dense(10)]
        )

    return [
        Net("MLP, 4 dense layers, 1024 wide", mlp, rng.normal(size=(rows, wide)).astype("float32")),
        Net("CNN, 32 × 32 × 3, 3 convolutions", cnn, rng.normal(size=(rows, *image, 3)).astype("float32")),
        Net("transformer, 2 blocks of 256, 32 tokens", transformer, rng.integers(0, 1000, (rows, 32)).astype("int32")),
    ]  # fmt: skip


def train(model: gx.Model, x: np.ndarray) -> None:
    """Train one epoch, on labels that say something about the inputs."""
    labels = np.abs(x.reshape(len(x), -1).astype("float64") @ np.arange(x[0].size)).astype("int64") % 10
    model.compile(gx.optimizers.Adam(1e-3), gx.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit(x, labels.astype("int32"), batch_size=32, verbose=0)


def files(net: Net, folder: Path) -> Iterator[tuple[str, gx.export.OnnxReport, np.ndarray]]:
    """The forms of a net as files, and what the net gives for the last rows before anything more is rounded."""
    known, calibration, rows = net.inputs[:-64], [net.inputs[:64]], net.inputs[-64:]

    def written(model: gx.Model, number: int, products: Any = "float32", **options: Any) -> gx.export.OnnxReport:
        path = folder / f"{number}.onnx"
        return gx.export.onnx(path, model, rows, products=products, tolerance=0.5, **options)

    gx.set_random_seed(0)
    model = net.make()
    train(model, known)
    aware = copy.deepcopy(model)
    train(model, known)
    plain = np.asarray(model(rows, training=False))
    yield "float32", written(model, 0), plain
    yield "rounded, ranges from calibration data", written(model, 1, "int8", calibration=calibration), plain
    gx.graft(model, reparam.Int8(), where="**/kernel")
    yield "grafted with `Int8`, float products", written(model, 2), plain
    yield "grafted with `Int8`, integer products", written(model, 3, "int8"), plain
    gx.graft(aware, reparam.FakeQuant(8, per="channel"), where="**/kernel")
    train(aware, known)
    trained = np.asarray(aware(rows, training=False))
    yield "trained with `FakeQuant`, integer products", written(aware, 4, "int8"), trained


def table(chosen: list[Net], rounds: int = 15) -> list[Row]:
    """All rows of these nets."""
    import onnxruntime  # optional, as for the export

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    found: list[Row] = []
    for net in chosen:
        with tempfile.TemporaryDirectory() as folder:
            forms = list(files(net, Path(folder)))
            sessions = [onnxruntime.InferenceSession(report.path, options) for _, report, _ in forms]
            (name,) = forms[0][1].inputs
            times = [timed(sessions, name, net.inputs[-64:][:batch], rounds) for batch in BATCHES]
            for i, (form, report, expected) in enumerate(forms):
                (got,) = sessions[i].run(None, {name: net.inputs[-64:]})
                error = float(np.abs(got - expected).max() / np.abs(expected).max())
                same = float((got.argmax(-1) == expected.argmax(-1)).mean())
                found.append(Row(net.name, form, report.bytes, tuple(column[i] for column in times), error, same))
    return found


def timed(sessions: list[Any], name: str, x: np.ndarray, rounds: int) -> list[float]:
    """Microseconds of a call of each, the median of rounds in which they take turns."""
    seconds: list[list[float]] = [[] for _ in sessions]
    for _ in range(rounds):
        for session, took in zip(sessions, seconds, strict=True):
            session.run(None, {name: x})  # its weights come into the cache again
            begin = time.perf_counter()
            session.run(None, {name: x})
            took.append(time.perf_counter() - begin)
    return [statistics.median(one) * 1e6 for one in seconds]


def markdown(rows: list[Row]) -> str:
    """The table of the documentation; times of integers are relative to those of float32."""
    lines = ["| net, form | kB | " + " | ".join(f"batch {one}" for one in BATCHES) + " | error | same answers |"]
    lines.append("|---|---:|" + "---:|" * len(BATCHES) + "---:|---:|")
    plain: Row | None = None
    for row in rows:
        if plain is None or plain.net != row.net:
            plain = row
            speeds = [f"{one:,.0f} µs" for one in row.microseconds]
            name = f"**{row.net}**: {row.form}"
        else:
            speeds = [f"{one / whole:.2f}" for one, whole in zip(row.microseconds, plain.microseconds, strict=True)]
            name = row.form
        values = [f"{row.bytes / 1e3:,.0f}", *speeds, f"{row.error:.1e}", f"{row.same:.0%}"]
        lines.append(f"| {name} | {' | '.join(values)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    text = markdown(table(nets()))
    print(text)
    if "--write" in sys.argv[1:]:
        page = PAGE.read_text()
        before, after = page.partition(MARKS[0])[0], page.partition(MARKS[1])[2]
        PAGE.write_text(f"{before}{MARKS[0]}\n\n{text}\n\n{MARKS[1]}{after}")
