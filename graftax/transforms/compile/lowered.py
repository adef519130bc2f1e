"""Lowered: a look at one trace of a compiled function, before it runs: state, program text, memory, cost."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, cast

from graftax.backend.program import Lowering
from graftax.transforms.compile.run import settle
from graftax.transforms.compile.trace import Entry
from graftax.variables.state.storage import Storage
from graftax.variables.variable import Variable


class Memory(NamedTuple):
    """What a compiled program holds on a device, in bytes; it must have all but ``donated`` at once.

    Example:
        >>> Memory(arguments=8, results=8, donated=8, temporary=4, code=0).peak
        12
    """

    arguments: int
    """Arguments and Variables that come in."""
    results: int
    """Results and Variables that go out."""
    donated: int
    """Of these, what reuses the memory of what came in."""
    temporary: int
    """Held in between only."""
    code: int
    """The program itself."""

    @property
    def peak(self) -> int:
        """Return all bytes that are held at once."""
        return self.arguments + self.results - self.donated + self.temporary + self.code


class Cost(NamedTuple):
    """What one run of a compiled program does, as its compiler counts.

    Example:
        >>> Cost(flops=100.0, bytes_accessed=50.0).intensity
        2.0
    """

    flops: float
    """Operations on floating numbers."""
    bytes_accessed: float
    """Bytes read from memory and written to it."""

    @property
    def intensity(self) -> float:
        """Return the number of operations for each byte."""
        return self.flops / self.bytes_accessed if self.bytes_accessed else 0.0


@dataclass(frozen=True)
class Collective:
    """How often devices do something together in one run of a compiled program.

    Example:
        >>> Collective(count=2, bytes=64, written=1)  # in the body of a loop that goes round twice
        Collective(count=2, bytes=64, written=1)
    """

    count: int
    """Operations in one run; those in a loop as often as it goes round, once where the compiler does not know."""
    bytes: int
    """Bytes that they give on one device, in one run."""
    written: int
    """Operations in the text of the program, each once."""


class Lowered:
    """What `CompiledFunction.lower` returns: one trace, not run. ``print`` it for an overview.

    Args:
        function: The name of the function.
        trace_count: How often it has been traced until now, this one included.
        entry: The trace.
        leaves: The arguments.
    """

    def __init__(self, function: str, trace_count: int, entry: Entry, leaves: list[Any]) -> None:
        self.function = function
        self.trace_count = trace_count
        self.donated = _variables(entry.donated)
        """Variables that are read and assigned: their memory is reused."""
        self.read = [*self.donated, *_variables(entry.read_only)]
        """Variables whose values come in."""
        self.written = _variables(entry.written)
        """Variables that are assigned."""
        settle(entry)
        donated, read_only = ([cell.buffer for cell in cells] for cells in (entry.donated_cells(), entry.read_only))
        self._lowering: Lowering = entry.program.lower(donated, read_only, leaves)

    @cached_property
    def text(self) -> str:
        """Return the program as it goes to the compiler (StableHLO for JAX)."""
        return self._lowering.text()

    @cached_property
    def memory(self) -> Memory:
        """Return the bytes that it holds; this compiles, which takes as long as a first call."""
        return Memory(*self._lowering.memory())

    @cached_property
    def cost(self) -> Cost:
        """Return what one run costs; this compiles, unless `memory` has."""
        return Cost(*self._lowering.cost())

    @cached_property
    def collectives(self) -> dict[str, Collective]:
        """Return what devices do together, by kind, such as ``"all-gather"``; this compiles, unless `memory` has.

        Empty for a program on one device.
        """
        found: dict[str, Collective] = {}
        for kind, size, runs in self._lowering.collectives():
            before = found.get(kind, Collective(0, 0, 0))
            found[kind] = Collective(before.count + runs, before.bytes + runs * size, before.written + 1)
        return found

    def __str__(self) -> str:
        memory, cost = self.memory, self.cost
        rows = [
            ("traces so far", str(self.trace_count)),
            ("Variables read", _describe_variables(self.read)),
            ("Variables assigned", _describe_variables(self.written)),
            ("memory at once", f"{_size(memory.peak)} ({_size(memory.temporary)} of it in between)"),
            ("reused", _size(memory.donated)),
            ("one run", f"{cost.flops:,.0f} flops, {_size(int(cost.bytes_accessed))} moved"),
        ]
        if self.collectives:
            told = (f"{one.count} {kind}, {_size(one.bytes)}" for kind, one in self.collectives.items())
            rows.append(("between devices", "; ".join(told)))
        return "\n".join([f"{self.function}, compiled", *(f"  {name:<20}{value}" for name, value in rows)])

    def __repr__(self) -> str:
        return f"<{self.function} lowered: {len(self.read)} Variables read, {len(self.written)} assigned>"


def _variables(storages: list[Storage]) -> list[Variable]:
    return [cast(Variable, storage.user) for storage in storages if storage.user is not None]


def _describe_variables(variables: list[Variable]) -> str:
    shown = ", ".join(f"{v.path or v.name or 'unnamed'} {v.dtype}{list(v.shape)}" for v in variables[:4])
    more = f", and {len(variables) - 4} more" if len(variables) > 4 else ""
    return f"{len(variables)}: {shown}{more}" if variables else "none"


def _size(count: int) -> str:
    for unit, factor in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= factor:
            return f"{count / factor:.1f} {unit}"
    return f"{count} B"
