"""Saving and restoring beside the bare device and other libraries: ``python -m benchmarks.checkpoint [FOLDER]``.

``--write`` puts the table into the page about checkpoints on disk.

Each contestant leaves its bytes on the device: what a library does not sync itself is synced here. All run in every
round, so that a slow moment of the machine hits all alike; a ratio is the median of the ratios round by round.
"""

import argparse
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

import graftax as gx
from benchmarks import report
from benchmarks.checkpoint_peers import peers, synced

Run = Callable[[str], Any]


class Took(NamedTuple):
    """Seconds of one run."""

    clock: float
    processor: float


class Size(NamedTuple):
    """How many arrays, of how many float32 elements each, and in how many rounds."""

    count: int
    elements: int
    rounds: int

    def __str__(self) -> str:
        each = self.elements * 4
        return f"{self.count:,} × {f'{each / 1e6:.1f} MB' if each >= 1e6 else f'{each / 1e3:.1f} kB'}"


PAGE = Path(__file__).parents[1] / "docs" / "checkpoints_on_disk.md"
BEGIN = "<!-- begin: what python -m benchmarks.checkpoint prints -->"
WARM = 3
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


def savers(net: Net) -> dict[str, Run]:
    """What writes all arrays to a path, by name of the contestant."""
    checkpoint = gx.Checkpoint(net=net)
    variables = net.variables

    def raw(path: str) -> None:
        with open(path, "wb", buffering=0) as file:
            for first in range(0, len(variables), 500):
                os.writev(file.fileno(), [memoryview(v.numpy()).cast("B") for v in variables[first : first + 500]])
        synced(path)

    def ours(path: str) -> None:
        checkpoint.save(path)

    found: dict[str, Run] = {"raw": raw, "graftax": ours}
    return found | {name: peer.saver({v.path: v.value for v in variables}) for name, peer in peers().items()}


def restorers(net: Net, folder: str) -> dict[str, Run]:
    """What reads all arrays of a path into arrays on the device, by name of the contestant."""
    checkpoint = gx.Checkpoint(net=net)
    checkpoint.save(f"{folder}/saved-{len(net.variables)}")

    def ours(path: str) -> Any:
        checkpoint.restore(f"{folder}/saved-{len(net.variables)}")
        return [v.value for v in net.variables]

    found: dict[str, Run] = {"graftax": ours}
    arrays = {v.path: v.value for v in net.variables}
    for name, peer in peers().items():
        saved = f"{folder}/{name}-{len(net.variables)}"
        peer.saver(arrays)(saved)
        found[name] = peer.restorer(saved, arrays)
    return found


def measure(runs: dict[str, Run], folder: str, rounds: int) -> dict[str, list[Took]]:
    """Seconds on the clock and of the processor, for each contestant and round; the first ones are not counted.

    In these a virtual machine gets memory from its host, which takes longer than anything that is measured here.
    """
    times: dict[str, list[Took]] = {name: [] for name in runs}
    for turn in range(-WARM, rounds):
        for name, run in runs.items():
            path = os.path.join(folder, f"{name}-{turn}")
            start = time.perf_counter(), time.process_time()
            jax.block_until_ready(run(path))
            if turn >= 0:
                times[name].append(Took(time.perf_counter() - start[0], time.process_time() - start[1]))
            if os.path.isdir(path):
                shutil.rmtree(path)
            elif os.path.exists(path):
                os.unlink(path)
    return times


def held(net: Net, folder: str, rounds: int) -> list[Took]:
    """How long a save beside the program holds the program: seconds on the clock and of this thread's processor."""
    checkpoint = gx.Checkpoint(net=net)
    found = []
    for turn in range(rounds + 1):
        start = time.perf_counter(), time.thread_time()
        checkpoint.save(f"{folder}/held-{turn}", async_=True)
        took = Took(time.perf_counter() - start[0], time.thread_time() - start[1])
        checkpoint.wait()
        shutil.rmtree(f"{folder}/held-{turn}")
        if turn:
            found.append(took)
    return found


def part(net: Net, folder: str, rounds: int) -> list[Took]:
    """What the restore of one array of a hundred costs, named by its layers."""
    checkpoint = gx.Checkpoint(net=net)
    chosen = [f"net/blocks/{i}/**" for i in range(max(1, len(net.blocks) // 100))]

    def run(path: str) -> None:
        checkpoint.restore(f"{folder}/saved-{len(net.variables)}", only=chosen)

    return measure({"graftax": run}, folder, rounds)["graftax"]


def peak(net: Net, folder: str) -> float:
    """The most memory that a restore has taken, the state itself included, in sizes of the state; Linux only."""
    size = sum(v.numpy().nbytes for v in net.variables)
    before = _kilobytes("VmRSS")
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the peak starts over
    gx.Checkpoint(net=net).restore(f"{folder}/saved-{len(net.variables)}")
    return 1 + (_kilobytes("VmHWM") - before) * 1024 / size


def _kilobytes(name: str) -> int:
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(name))


def rows(sizes: tuple[Size, ...], folder: str) -> list[str]:
    """The table, a row for each kind of work."""
    others = ["raw", *peers()]
    heads = ["graftax: ms, of the processor", *(f"to {name}{' + fsync' if name != 'orbax' else ''}" for name in others)]
    lines = ["| work | " + " | ".join(heads) + " |", "|---|" + "---|" * len(heads)]
    for size in sizes:
        net = Net(size)
        for what, runs in (("save", savers(net)), ("restore", restorers(net, folder))):
            times = measure(runs, folder, size.rounds)
            cells = [milliseconds(times["graftax"])]
            for other in others:
                pairs = zip(times["graftax"], times.get(other, ()), strict=False)
                ratios = [ours.clock / theirs.clock for ours, theirs in pairs]
                cells.append(f"{statistics.median(ratios):.2f} ({min(ratios):.2f})" if ratios else "-")
            lines.append(f"| {what} {size} | {' | '.join(cells)} |")
        blank = " |" * len(others)
        lines.append(f"| restore 1 % of {size} | {milliseconds(part(net, folder, size.rounds))} |{blank}")
        lines.append(
            f"| held by a save beside the program, {size} | {milliseconds(held(net, folder, size.rounds))} |{blank}"
        )
        if os.path.exists("/proc/self/clear_refs"):
            lines.append(f"| peak memory of a restore, {size} | {peak(net, folder):.2f} × the state |{blank}")
    return lines


def milliseconds(times: list[Took]) -> str:
    """Medians of the clock and of the processor."""
    return ", ".join(f"{statistics.median(column) * 1e3:.0f}" for column in zip(*times, strict=True))


def main() -> None:
    """Print the table: medians, and of the ratios the least in brackets."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.checkpoint", description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", help="where to write; by default where temporary files go")
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE.name}")
    arguments = parser.parse_args()
    folder = tempfile.mkdtemp(dir=arguments.folder)
    try:
        lines = ["", *rows((LARGE, SMALL), folder)]
    finally:
        shutil.rmtree(folder)
    print("\n".join(lines))
    if arguments.write:
        PAGE.write_text(report.page_with([*lines, ""], PAGE.read_text(), BEGIN))
        print("written to", PAGE)


if __name__ == "__main__":
    main()
