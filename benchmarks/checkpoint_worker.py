"""A process of one contestant: ``python -m benchmarks.checkpoint_worker NAME COUNT ELEMENTS``, and the class `Worker`.

It waits for lines with the name of what to do and a path, and answers each with a line of numbers. Its heap holds what
this contestant needs, so that no collection of garbage and no memory is due to another one.
"""

import json
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from benchmarks.checkpoint_contestants import MAKERS, Run, Size

PEAK = Path("/proc/self/clear_refs")


class Took(NamedTuple):
    """What one run took: seconds on the clock, of the processor (all threads), and of the processor in the thread that
    called; and bytes: the most memory of the process meanwhile, without what it had before there were arrays.
    """

    clock: float
    processor: float
    thread: float
    peak: int


class Worker:
    """A contestant in a process of its own, until the end of a ``with`` block."""

    def __init__(self, name: str, size: Size) -> None:
        command = [sys.executable, "-m", "benchmarks.checkpoint_worker", name, str(size.count), str(size.elements)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[1]
        )
        self.can: list[str] | None = None

    def ready(self) -> list[str]:
        """Wait until it has its arrays, and return what it can do."""
        if self.can is None:
            self.can = self._answer()
        return self.can

    def run(self, what: str, path: str) -> Took:
        """Let it do something, and return what that took."""
        if self._process.stdin is None:
            raise RuntimeError("the worker has no input")
        self._process.stdin.write(json.dumps([what, path]) + "\n")
        self._process.stdin.flush()
        return Took(*self._answer())

    def _answer(self) -> list[str]:
        line = self._process.stdout.readline() if self._process.stdout is not None else ""
        if not line:
            raise RuntimeError(f"a contestant has ended with status {self._process.wait()}; its error is above")
        found: list[str] = json.loads(line)
        return found

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._process.communicate()  # closes its input, at which it ends


def timed(run: Run, path: str, before: int = 0) -> Took:
    """Run once; ``before`` are the bytes that the process had before there were arrays."""
    if PEAK.exists():
        PEAK.write_text("5")  # the peak starts over
    start = time.perf_counter(), time.process_time(), time.thread_time()
    run(path)
    end = time.perf_counter(), time.process_time(), time.thread_time()
    return Took(*(b - a for a, b in zip(start, end, strict=True)), peak=memory("VmHWM") - before)


def memory(name: str) -> int:
    """Bytes of this process, as Linux counts them under this name; 0 elsewhere."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(name)), 0)


def main() -> None:
    """Serve until the input ends."""
    name, count, elements = sys.argv[1:]
    answers, sys.stdout = sys.stdout, sys.stderr  # what libraries print is no answer
    before = memory("VmRSS")
    runs = MAKERS[name](Size(int(count), int(elements), 0))
    print(json.dumps(list(runs)), file=answers, flush=True)
    for line in sys.stdin:
        what, path = json.loads(line)
        print(json.dumps(timed(runs[what], path, before)), file=answers, flush=True)


if __name__ == "__main__":
    main()
