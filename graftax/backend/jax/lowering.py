"""What XLA says of a program before it runs."""

from __future__ import annotations

import math
import re
from functools import cached_property
from typing import Any

_KINDS = ("all-gather", "all-reduce", "reduce-scatter", "all-to-all", "collective-permute", "collective-broadcast")
_COLLECTIVE = re.compile(rf"^\s*(?:ROOT )?%?\S+ = (\(.*?\)|\S+) ({'|'.join(_KINDS)})(-start)?\(", re.MULTILINE)
_ARRAY = re.compile(r"\b([a-z]+)(\d*)(?:e\d\w*)?\[([\d,]*)\]")
_COMPUTATION = re.compile(r"^(ENTRY )?%?([^\s(]+) .*\{$")
_CALLED = re.compile(r"\b(body|condition|calls|to_apply|\w+_computations?)=(\{[^}]*\}|%?[^\s,]+)")
_TRIPS = re.compile(r'"known_trip_count":\{"n":"(\d+)"\}')


class JaxLowering:
    """A program on its way to the compiler.

    Args:
        lowered: What ``jax.jit(...).lower(...)`` gives.
    """

    def __init__(self, lowered: Any) -> None:
        self._lowered = lowered

    def text(self) -> str:
        """Return the program in StableHLO."""
        return str(self._lowered.as_text())

    def memory(self) -> tuple[int, int, int, int, int]:
        """Return bytes of arguments, results, results in the place of arguments, what is held in between, the code."""
        sizes = self._compiled.memory_analysis()
        return (
            sizes.argument_size_in_bytes,
            sizes.output_size_in_bytes,
            sizes.alias_size_in_bytes,
            sizes.temp_size_in_bytes,
            sizes.generated_code_size_in_bytes,
        )

    def cost(self) -> tuple[float, float]:
        """Return floating operations and bytes moved."""
        costs = self._compiled.cost_analysis()
        return float(costs.get("flops", 0.0)), float(costs.get("bytes accessed", 0.0))

    def collectives(self) -> list[tuple[str, int, int]]:
        """Return the kind of each collective operation, the bytes that it gives on a device, and how often it runs."""
        return collectives_in(str(self._compiled.as_text()))

    @cached_property
    def _compiled(self) -> Any:
        return self._lowered.compile()


def collectives_in(text: str) -> list[tuple[str, int, int]]:
    """Return the kinds of collective operations in the text of a compiled program, the bytes of each, and its runs.

    What is in the body of a loop runs as often as the loop goes round, where the compiler knows how often that is, and
    counts once where it does not; each branch of a condition counts.

    Example:
        >>> collectives_in("  %all-reduce.1 = (f32[8]{0}, bf16[4,2]{1,0}) all-reduce(%a, %b), channel_id=1")
        [('all-reduce', 48, 1)]
    """
    runs, inside, found = _runs(text), "", []
    for line in text.splitlines():
        if (header := _COMPUTATION.match(line)) is not None:
            inside = header[2]
        elif (operation := _COLLECTIVE.match(line)) is not None:
            results, kind, start = operation.groups()
            sizes = [_bytes(*array) for array in _ARRAY.findall(results)]
            if start and len(sizes) > 1 and kind != "all-reduce":  # what came in stands before what goes out
                sizes = sizes[len(sizes) // 2 :]
            found.append((kind, sum(sizes), runs.get(inside, 1)))
    return found


def _runs(text: str) -> dict[str, int]:
    """Return how often each part of a program runs in one run of the whole, by name."""
    calls: dict[str, list[tuple[str, int]]] = {}
    inside, entry = "", ""
    for line in text.splitlines():
        if (header := _COMPUTATION.match(line)) is not None:
            inside = header[2]
            entry = inside if header[1] else entry
            continue
        for how, names in _CALLED.findall(line):
            trips = _TRIPS.search(line) if how == "body" else None
            for name in names.strip("{}").split(","):
                calls.setdefault(inside, []).append((name.strip().lstrip("%"), int(trips[1]) if trips else 1))
    found: dict[str, int] = {}
    waiting = [(entry, 1)]
    while waiting:
        name, times = waiting.pop()
        found[name] = found.get(name, 0) + times
        waiting += [(other, times * trips) for other, trips in calls.get(name, [])]
    return found


def _bytes(kind: str, bits: str, sizes: str) -> int:
    return max(int(bits or 8), 8) // 8 * math.prod(int(size) for size in sizes.split(",") if size)
