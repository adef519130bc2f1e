"""Size, speed and error of integers in artefacts: ``python -m benchmarks.quantized_artefact [--write]``.

The nets are those of `benchmarks.quantized_onnx`, and so are the columns. Calls of the forms take turns.
"""

import copy
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np

import graftax as gx
from benchmarks.quantized_onnx import BATCHES, Net, Row, markdown, nets, train
from graftax import reparam

PAGE = Path(__file__).parents[1] / "docs" / "export.md"
MARKS = ("<!-- begin: what python -m benchmarks.quantized_artefact prints -->", "<!-- end -->")


def forms(net: Net, folder: Path) -> Iterator[tuple[str, int, Any, np.ndarray]]:
    """The forms of a net: name, bytes on the disk, program, and what the net gives before anything more is rounded."""
    known, rows = net.inputs[:-64], net.inputs[-64:]

    def saved(model: gx.Model, name: str) -> tuple[int, list[Any]]:
        report = model.export(folder / name, rows)
        ways: Any = ("numbers", "keep") if report.integers else ("numbers",)
        return report.bytes, [gx.export.load(folder / name, integers=one).predict for one in ways]

    gx.set_random_seed(0)
    model = net.make()
    train(model, known)
    aware = copy.deepcopy(model)
    train(model, known)
    plain = np.asarray(model(rows, training=False))
    size, (program,) = saved(model, "float")
    yield "float32", size, program, plain
    gx.graft(model, reparam.Int8(), where="**/kernel")
    size, programs = saved(model, "int8")
    yield "grafted with `Int8`", size, programs[0], plain
    yield 'grafted with `Int8`, `integers="keep"`', size, programs[1], plain
    gx.graft(aware, reparam.FakeQuant(8, per="channel"), where="**/kernel")
    train(aware, known)
    trained = np.asarray(aware(rows, training=False))
    size, programs = saved(aware, "trained")
    yield "trained with `FakeQuant`", size, programs[0], trained
    yield 'trained with `FakeQuant`, `integers="keep"`', size, programs[1], trained


def table(chosen: list[Net], rounds: int = 15) -> list[Row]:
    """All rows of these nets."""
    found: list[Row] = []
    for net in chosen:
        with tempfile.TemporaryDirectory() as folder:
            made = list(forms(net, Path(folder)))
        times = [timed([one[2] for one in made], net.inputs[-64:][:batch], rounds) for batch in BATCHES]
        for i, (form, size, program, expected) in enumerate(made):
            got = np.asarray(program(net.inputs[-64:]))
            error = float(np.abs(got - expected).max() / np.abs(expected).max())
            same = float((got.argmax(-1) == expected.argmax(-1)).mean())
            found.append(Row(net.name, form, size, tuple(column[i] for column in times), error, same))
    return found


def timed(programs: list[Any], x: np.ndarray, rounds: int) -> list[float]:
    """Microseconds of a call of each, the median of rounds in which they take turns."""
    seconds: list[list[float]] = [[] for _ in programs]
    for _ in range(rounds):
        for program, took in zip(programs, seconds, strict=True):
            jax.block_until_ready(program(x))  # its weights come into the cache again
            begin = time.perf_counter()
            jax.block_until_ready(program(x))
            took.append(time.perf_counter() - begin)
    return [statistics.median(one) * 1e6 for one in seconds]


if __name__ == "__main__":
    text = markdown(table(nets()))
    print(text)
    if "--write" in sys.argv[1:]:
        page = PAGE.read_text()
        before, after = page.partition(MARKS[0])[0], page.partition(MARKS[1])[2]
        PAGE.write_text(f"{before}{MARKS[0]}\n\n{text}\n\n{MARKS[1]}{after}")
