"""Interleaved rounds: every contestant runs in every round, so that a slow moment of the machine hits all alike."""

import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple


class Row(NamedTuple):
    """One contestant: its median time and its ratio to the reference, round by round."""

    name: str
    microseconds: float
    ratio: float


def measure(
    contestants: dict[str, Callable[[], Any]], wait: Callable[[Any], Any], calls: int, rounds: int = 11
) -> list[Row]:
    """Time each contestant, the first of which is the reference.

    Args:
        contestants: Functions of no arguments; each call is one unit of work.
        wait: Blocks until a result is computed; called once at the end of a run of calls.
        calls: Calls in a run.
        rounds: Runs of each contestant; medians over them are given.
    """
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for function in contestants.values():
        for _ in range(3):
            wait(function())
    for _ in range(rounds):
        for name, function in contestants.items():
            start = time.perf_counter()
            for _ in range(calls):
                result = function()
            wait(result)
            times[name].append((time.perf_counter() - start) / calls * 1e6)
    reference = next(iter(times.values()))
    return [
        Row(name, statistics.median(runs), statistics.median(a / b for a, b in zip(runs, reference, strict=True)))
        for name, runs in times.items()
    ]


def table(title: str, rows: list[Row]) -> str:
    """The rows as a Markdown table."""
    lines = [f"### {title}", "", "| | µs | × hand-written JAX |", "|---|---:|---:|"]
    lines += [f"| {row.name} | {row.microseconds:,.0f} | {row.ratio:.2f} |" for row in rows]
    return "\n".join(lines)
