"""Interleaved rounds: every contestant runs in every round, so that a slow moment of the machine hits all alike."""

import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax

Run = Callable[[], Any]

# The columns of the table after the reference. The peers are measured where they are installed.
GRAFTAX, JITTED, NNX, KERAS, TORCH, COMPILED = "graftax", "jax.jit", "nnx", "keras", "torch", "torch.compile"
PEERS = {NNX: "flax", KERAS: "keras", TORCH: "torch", COMPILED: "torch"}
"""Each with the package that it comes in."""

# Before each run, in seconds: threads of the contestant before it may still spin, waiting for more work.
PAUSE = 0.02


@dataclass(frozen=True)
class Work:
    """One row of the table: the same work, done by the reference, by graftax and by others.

    Args:
        name: What is done, and by which part of graftax.
        reference: What the ratios are relative to.
        contestants: A column (or "reference") to a function that sets up, for the sizes of the table or tiny ones, and
            gives what is timed. What the reference, graftax and jax.jit give, call after call, must be equal.
        first_call: Time the first call after setting up, which traces and compiles, and set up anew in each round.
    """

    name: str
    reference: str
    contestants: dict[str, Callable[[bool], Run]]
    first_call: bool = False


class Times(NamedTuple):
    """Seconds of a call, or ratios to those of the reference."""

    median: float
    least: float
    cpu: float
    """Processor time of all threads, the least of the rounds."""


class Result(NamedTuple):
    """Seconds of the reference, and the ratio of each column to it; the median is that of the ratios round by round."""

    reference: Times
    ratios: dict[str, Times]


class Moment(NamedTuple):
    """One run of one contestant, in seconds a call."""

    wall: float
    cpu: float


def measure(work: Work, columns: tuple[str, ...], tiny: bool = False, rounds: int = 11) -> Result:
    """Time the contestants in these columns beside the reference."""
    setups = {name: setup for name, setup in work.contestants.items() if name == "reference" or name in columns}
    once = first_calls if work.first_call else repeated_calls
    moments = once(setups, tiny, rounds)
    first = moments.pop("reference")
    reference = Times(statistics.median(one.wall for one in first), *least(first))
    ratios = {}
    for name, runs in moments.items():
        median = statistics.median(a.wall / b.wall for a, b in zip(runs, first, strict=True))
        ratios[name] = Times(median, *(a / max(b, 1e-9) for a, b in zip(least(runs), reference[1:], strict=True)))
    return Result(reference, ratios)


def least(runs: list[Moment]) -> tuple[float, float]:
    return min(one.wall for one in runs), min(one.cpu for one in runs)


def repeated_calls(setups: dict[str, Callable[[bool], Run]], tiny: bool, rounds: int) -> dict[str, list[Moment]]:
    """Seconds of a call, for each round: a run is as many calls as fit into 10 ms."""
    runs = {name: setup(tiny) for name, setup in setups.items()}
    calls = {}
    for name, run in runs.items():
        for _ in range(3):
            finish(run())
        calls[name] = max(1, int(0.01 / seconds(run, 3).wall))
    found: dict[str, list[Moment]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            time.sleep(PAUSE)
            finish(run())
            found[name].append(seconds(run, calls[name]))
    return found


def first_calls(setups: dict[str, Callable[[bool], Run]], tiny: bool, rounds: int) -> dict[str, list[Moment]]:
    """Seconds of the first call, for each of a third of the rounds."""
    found: dict[str, list[Moment]] = {name: [] for name in setups}
    for _ in range(max(1, rounds // 3)):
        for name, setup in setups.items():
            found[name].append(seconds(setup(tiny), 1))
    return found


def seconds(run: Run, calls: int) -> Moment:
    """Seconds of a call, waiting for the result of the last."""
    start, busy = time.perf_counter(), time.process_time()
    for _ in range(calls):
        result = run()
    finish(result)
    return Moment((time.perf_counter() - start) / calls, (time.process_time() - busy) / calls)


def finish(result: Any) -> None:
    """Wait for a result, on whatever device it is computed."""
    jax.block_until_ready(result)
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.synchronize()
