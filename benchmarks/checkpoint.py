"""Saving and restoring beside the bare device and other libraries: ``python -m benchmarks.checkpoint [FOLDER]``.

``--write`` puts the table into the page about checkpoints on disk.

Each contestant runs in a process of its own, and leaves its bytes on the device: what a library does not sync itself
is synced here. All run in every round, each time another one first, so that a slow moment of the machine hits all
alike; a ratio is the median of the ratios round by round. Before each run, whatever waits to be written is written, and
as much memory as the run may need is taken from the host and given back: a virtual machine gets memory only when it is
used, which takes longer than anything that is measured here. What is restored was read just before.
"""

import argparse
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from benchmarks import report
from benchmarks.checkpoint_contestants import Size, contestants
from benchmarks.checkpoint_worker import PEAK, Took, Worker

PAGE = Path(__file__).parents[1] / "docs" / "checkpoints_on_disk.md"
BEGIN = "<!-- begin: what python -m benchmarks.checkpoint prints -->"
WARM = 2
LARGE, SMALL = Size(200, 1_310_720, 7), Size(5000, 1024, 21)
PAUSE = 0.05  # seconds: threads of the contestant before may still spin, waiting for more work
SPARED = 0.5  # the part of the free memory that is never taken


def measure(workers: dict[str, Worker], what: str, folder: str, size: Size) -> dict[str, list[Took]]:
    """What each of them took, in each round but the first ones."""
    running = [*workers]
    took: dict[str, list[Took]] = {name: [] for name in running}
    is_saved = what not in ("save", "begin")
    for turn in range(-WARM, size.rounds):
        first = turn % len(running)
        for name in running[first:] + running[:first]:
            path = os.path.join(folder, name if is_saved else f"{name}{turn}")
            settle(path, 2 * size.nbytes)
            one = workers[name].run(what, path)
            if what == "begin":
                workers[name].run("finish", path)
            if turn >= 0:
                took[name].append(one)
            if not is_saved:
                remove(path)
    return took


def first_restores(workers: dict[str, Worker], folder: str) -> dict[str, int]:
    """Let each save and restore once, and return the most bytes it had meanwhile, what it had before included.

    A later restore finds free memory that the allocator has kept, and takes more or less by chance.
    """
    peaks = {}
    for name, worker in workers.items():
        path = os.path.join(folder, name)
        worker.run("save", path)
        peaks[name] = worker.run("restore", path).peak
    return peaks


def settle(path: str, nbytes: int) -> None:
    """Make the machine alike for all: nothing waits to be written, memory is there, and the path was read."""
    os.sync()
    touched = np.empty(min(nbytes, int(SPARED * free_memory())), np.uint8)
    touched[::4096] = 1
    del touched
    for file in [Path(path), *Path(path).rglob("*")]:
        if file.is_file():
            with open(file, "rb", buffering=0) as opened:
                while opened.read(8 << 20):
                    pass
    time.sleep(PAUSE)


def free_memory() -> int:
    """Bytes that nobody needs; those of files that were read are not counted where Linux does not tell."""
    counts = Path("/proc/meminfo")
    for line in counts.read_text().splitlines() if counts.exists() else ():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def remove(path: str) -> None:
    """Delete a file or a directory."""
    if os.path.isdir(path):
        shutil.rmtree(path)
    else:
        os.unlink(path)


def rows(sizes: Sequence[Size], folder: str, names: Sequence[str]) -> list[str]:
    """The table, a row for each kind of work."""
    others = [name for name in names if name != "graftax"]
    heads = ["graftax: ms, of the processor", *(f"to {name}{' + fsync' if name != 'orbax' else ''}" for name in others)]
    lines = ["| work | " + " | ".join(heads) + " |", "|---|" + "---|" * len(heads)]

    def row(work: str, cells: Iterable[str]) -> None:
        held = [*cells]
        lines.append(f"| {work} | {' | '.join(held)} |{' |' * (len(heads) - len(held))}")

    for size in sizes:
        for what, more in (("save", ("begin",)), ("restore", ("restore 1 %",))):
            with ExitStack() as stack:
                able = [name for name in names if what == "save" or name != "raw"]
                workers = {name: stack.enter_context(Worker(name, size)) for name in able}
                for worker in workers.values():
                    worker.ready()
                peaks = first_restores(workers, folder) if what == "restore" else {}
                took = measure(workers, what, folder, size)
                row(f"{what} {size}", [milliseconds(took["graftax"]), *(ratios(took, name) for name in others)])
                if peaks and PEAK.exists() and size.nbytes > 1 << 28:  # less is lost among what is imported
                    compared = [f"{peaks['graftax'] / peaks[name]:.2f}" if name in peaks else "-" for name in others]
                    row(f"peak memory of it, {size}", [f"{peaks['graftax'] / size.nbytes:.2f} × the state", *compared])
                for extra in more:
                    ours = measure({"graftax": workers["graftax"]}, extra, folder, size)["graftax"]
                    name = "held by a save beside the program," if extra == "begin" else f"{extra} of"
                    row(f"{name} {size}", [milliseconds(ours, is_thread=extra == "begin")])
            for name in os.listdir(folder):
                remove(os.path.join(folder, name))
    return lines


def milliseconds(runs: list[Took], is_thread: bool = False) -> str:
    """Medians of the clock and of the processor, of all threads or of the calling one."""
    processor = [one.thread if is_thread else one.processor for one in runs]
    return ", ".join(f"{statistics.median(column) * 1e3:.0f}" for column in ([one.clock for one in runs], processor))


def ratios(took: dict[str, list[Took]], name: str) -> str:
    """Of the clock the median and the least of all rounds, and of the processor the median."""
    if name not in took:
        return "-"
    pairs = [*zip(took["graftax"], took[name], strict=True)]
    clock = [ours.clock / theirs.clock for ours, theirs in pairs]
    processor = [ours.processor / theirs.processor for ours, theirs in pairs]
    return f"{statistics.median(clock):.2f} ({min(clock):.2f}), {statistics.median(processor):.2f}"


def main() -> None:
    """Print the table: medians, of the ratios by the clock the least in brackets, and of those by the processor."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.checkpoint", description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", help="where to write; by default where temporary files go")
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE.name}")
    arguments = parser.parse_args()
    folder = os.path.abspath(tempfile.mkdtemp(dir=arguments.folder))
    try:
        lines = ["", *rows((LARGE, SMALL), folder, contestants())]
    finally:
        shutil.rmtree(folder)
    print("\n".join(lines))
    if arguments.write:
        PAGE.write_text(report.page_with([*lines, ""], PAGE.read_text(), BEGIN))
        print("written to", PAGE)


if __name__ == "__main__":
    main()
