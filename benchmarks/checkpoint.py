"""Saving and restoring beside the bare device and beside safetensors: ``python -m benchmarks.checkpoint [FOLDER]``.

Each contestant leaves its bytes on the device: what a library does not sync itself is synced here. All run in every
round, so that a slow moment of the machine hits all alike; a ratio is the median of the ratios round by round.
"""

import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np

import graftax as gx

try:
    from safetensors import numpy as safetensors
except ImportError:
    safetensors = None

Run = Callable[[str], Any]


class Size(NamedTuple):
    """How many arrays, of how many float32 elements each, and in how many rounds."""

    count: int
    elements: int
    rounds: int

    def __str__(self) -> str:
        each = self.elements * 4
        return f"{self.count:,} × {f'{each / 1e6:.1f} MB' if each >= 1e6 else f'{each / 1e3:.1f} kB'}"


LARGE, SMALL = Size(200, 1_310_720, 5), Size(5000, 1024, 11)


class Layer(gx.Layer):
    """Ten weights, as layers have some."""

    def __init__(self, count: int, elements: int) -> None:
        super().__init__()
        self.weights = [gx.Variable(np.random.default_rng(i).random(elements, "float32")) for i in range(count)]


class Net(gx.Layer):
    """All of the arrays, in layers of ten."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.blocks = [Layer(10, size.elements) for _ in range(size.count // 10)]


def synced(path: str) -> None:
    """Wait until a file and its name are on the device."""
    for name in (path, os.path.dirname(path)):
        descriptor = os.open(name, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)


def savers(net: Net) -> dict[str, Run]:
    """What writes all arrays to a path."""
    checkpoint = gx.Checkpoint(net=net)
    variables = net.variables

    def raw(path: str) -> None:
        with open(path, "wb", buffering=0) as file:
            for first in range(0, len(variables), 500):
                os.writev(file.fileno(), [memoryview(v.numpy()).cast("B") for v in variables[first : first + 500]])
        synced(path)

    def library(path: str) -> None:
        safetensors.save_file({v.path: v.numpy() for v in variables}, path)
        synced(path)

    def ours(path: str) -> None:
        checkpoint.save(path)

    found: dict[str, Run] = {"raw": raw, "graftax": ours}
    return found | ({"safetensors": library} if safetensors else {})


def restorers(net: Net, folder: str) -> dict[str, Run]:
    """What reads all arrays of a path into arrays on the device."""
    checkpoint = gx.Checkpoint(net=net)
    checkpoint.save(f"{folder}/saved-{len(net.variables)}")

    def ours(path: str) -> Any:
        checkpoint.restore(f"{folder}/saved-{len(net.variables)}")
        return [v.value for v in net.variables]

    if not safetensors:
        return {"graftax": ours}
    safetensors.save_file({v.path: v.numpy() for v in net.variables}, f"{folder}/file-{len(net.variables)}")

    def library(path: str) -> Any:
        return jax.device_put(list(safetensors.load_file(f"{folder}/file-{len(net.variables)}").values()))

    return {"graftax": ours, "safetensors": library}


def measure(runs: dict[str, Run], folder: str, rounds: int) -> dict[str, list[tuple[float, float]]]:
    """Seconds on the clock and of the processor, for each contestant and round; the first round is not counted."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
    for turn in range(rounds + 1):
        for name, run in runs.items():
            path = os.path.join(folder, f"{name}-{turn}")
            start = time.perf_counter(), time.process_time()
            jax.block_until_ready(run(path))
            if turn:
                times[name].append((time.perf_counter() - start[0], time.process_time() - start[1]))
            if os.path.isdir(path):
                shutil.rmtree(path)
            elif os.path.exists(path):
                os.unlink(path)
    return times


def held(net: Net, folder: str, rounds: int) -> list[tuple[float, float]]:
    """How long a save beside the program holds the program: seconds on the clock and of this thread's processor."""
    checkpoint = gx.Checkpoint(net=net)
    found = []
    for turn in range(rounds + 1):
        start = time.perf_counter(), time.thread_time()
        checkpoint.save(f"{folder}/held-{turn}", async_=True)
        took = time.perf_counter() - start[0], time.thread_time() - start[1]
        checkpoint.wait()
        shutil.rmtree(f"{folder}/held-{turn}")
        if turn:
            found.append(took)
    return found


def rows(sizes: tuple[Size, ...], folder: str) -> list[str]:
    """The table, a row for each kind of work."""
    lines = ["| work | " + " | ".join(HEADS) + " |", "|---|" + "---|" * len(HEADS)]
    for size in sizes:
        net = Net(size)
        for what, runs in (("save", savers(net)), ("restore", restorers(net, folder))):
            times = measure(runs, folder, size.rounds)
            cells = [milliseconds(times["graftax"])]
            for other in ("raw", "safetensors"):
                pairs = zip(times["graftax"], times.get(other, ()), strict=False)
                ratios = [ours[0] / theirs[0] for ours, theirs in pairs]
                cells.append(f"{statistics.median(ratios):.2f} ({min(ratios):.2f})" if ratios else "-")
            lines.append(f"| {what} {size} | {' | '.join(cells)} |")
        name = f"held by a save beside the program, {size}"
        lines.append(f"| {name} | {milliseconds(held(net, folder, size.rounds))} | | |")
    return lines


HEADS = ("graftax: ms, of the processor", "to write + fsync: median (least)", "to safetensors + fsync / device_put")


def milliseconds(times: list[tuple[float, float]]) -> str:
    """Medians of the clock and of the processor."""
    return ", ".join(f"{statistics.median(column) * 1e3:.0f}" for column in zip(*times, strict=True))


def main(where: str | None = None, sizes: tuple[Size, ...] = (LARGE, SMALL)) -> None:
    """Print the table."""
    folder = tempfile.mkdtemp(dir=where)
    try:
        print("\n".join(rows(sizes, folder)))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main(*sys.argv[1:2])
