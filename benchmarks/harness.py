"""Interleaved rounds: every contestant runs in every round, so that a slow moment of the machine hits all alike."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax

Run = Callable[[], Any]

# The columns of the table after the reference. The peers are measured where they are installed.
GRAFTAX, JITTED, KERAS, TORCH = "graftax", "jax.jit", "keras", "torch"
PEERS = (KERAS, TORCH)

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


class Result(NamedTuple):
    """Median time of the reference, and the ratio of each column to it, the median of the ratios round by round."""

    microseconds: float
    ratios: dict[str, float]


def measure(work: Work, columns: tuple[str, ...], tiny: bool = False, rounds: int = 11) -> Result:
    """Time the contestants in these columns beside the reference."""
    setups = {name: setup for name, setup in work.contestants.items() if name == "reference" or name in columns}
    once = first_calls if work.first_call else repeated_calls
    times = once(setups, tiny, rounds)
    reference = times.pop("reference")
    ratios = {
        name: statistics.median(a / b for a, b in zip(runs, reference, strict=True)) for name, runs in times.items()
    }
    return Result(statistics.median(reference) * 1e6, ratios)


def repeated_calls(setups: dict[str, Callable[[bool], Run]], tiny: bool, rounds: int) -> dict[str, list[float]]:
    """Seconds of a call, for each round: a run is as many calls as fit into 10 ms."""
    runs = {name: setup(tiny) for name, setup in setups.items()}
    calls = {}
    for name, run in runs.items():
        for _ in range(3):
            jax.block_until_ready(run())
        calls[name] = max(1, int(0.01 / seconds(run, 3)))
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            time.sleep(PAUSE)
            jax.block_until_ready(run())
            times[name].append(seconds(run, calls[name]))
    return times


def first_calls(setups: dict[str, Callable[[bool], Run]], tiny: bool, rounds: int) -> dict[str, list[float]]:
    """Seconds of the first call, for each of a third of the rounds."""
    times: dict[str, list[float]] = {name: [] for name in setups}
    for _ in range(max(1, rounds // 3)):
        for name, setup in setups.items():
            times[name].append(seconds(setup(tiny), 1))
    return times


def seconds(run: Run, calls: int) -> float:
    """Seconds of a call, waiting for the result of the last."""
    start = time.perf_counter()
    for _ in range(calls):
        result = run()
    jax.block_until_ready(result)
    return (time.perf_counter() - start) / calls
