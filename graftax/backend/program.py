"""What a backend makes of a function that it traces: a program whose state comes in and goes out as arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from graftax.core.culprit import Culprit
from graftax.core.typedefs import Array


class Cell(Protocol):
    """The handle of one piece of mutable state, as the tracer sees it (a `graftax.variables.state.storage.Storage`).

    It may have a ``home``, whose ``stored`` says how new values of it are to lie over a mesh.
    """

    buffer: Any


class Lift(Protocol):
    """The interface through which a function that is being traced reads cells."""

    level: Any
    cells: list[Any]
    """Those that were read."""
    groups: list[Sequence[Cell]]
    """Cells of one dtype that may share a buffer, put in here while the function runs."""

    def read(self, cell: Cell, like: object = None) -> Array:
        """Return the value of a cell, of the shape of its buffer or that of another value; ask once for each cell."""
        ...


class Program(Protocol):
    """A function traced once. Cells that it read became inputs, cells that it wrote became outputs, too."""

    @property
    def donated(self) -> Sequence[Cell]:
        """Return cells both read and written; a donating run gives their buffers away."""
        ...

    @property
    def read_only(self) -> Sequence[Cell]:
        """Return cells that are only read."""
        ...

    @property
    def written(self) -> Sequence[Cell]:
        """Return cells that get new values, in the order of those."""
        ...

    @property
    def donated_packed(self) -> Sequence[Cell | Sequence[Cell]]:
        """Return `donated` as `run_donating` takes it: the cells of a group are passed as one array, joined."""
        ...

    @property
    def written_packed(self) -> Sequence[Cell | Sequence[Cell]]:
        """Return `written` as `run_donating` returns the new values: groups first, each as one array."""
        ...

    @property
    def constants(self) -> Sequence[Any]:
        """Return the arrays that are constants of the program."""
        ...

    @property
    def run(self) -> Callable[[list[Any], list[Any], list[Any]], list[Any]]:
        """Return ``run(donated, read_only, leaves) -> [*results, *new values]``, compiled; transforms may call it."""
        ...

    @property
    def run_donating(self) -> Callable[[list[Any], list[Any], list[Any]], list[Any]]:
        """Return ``run_donating(donated, read_only, leaves) -> [*results, *new values]``; donated buffers are reused.

        It takes arrays as `donated_packed` has them, and returns new values as `written_packed` has them.

        A program that may fail while it runs gives nothing away, and waits for the end.
        """
        ...

    names: list[str]
    """What the leaves are called, for messages."""
    result_names: list[str]
    """What the results are called, without new values."""
    read: list[Any]
    """Cells that it reads, in the order in which their values are inputs of `opened`."""

    @property
    def opened(self) -> tuple[Any, list[Any]]:
        """Return the program of constants, values of ``read`` and leaves, as `Equations` know it, and the constants."""
        ...

    @property
    def unread(self) -> Sequence[int]:
        """Return which of the leaves no result, new value or effect depends on, by number."""
        ...

    @property
    def run_checked(self) -> Callable[[list[Any], list[Any], list[Any]], list[Any]]:
        """Return `run` that also raises what its checks find; StateError where that cannot be seen."""
        ...

    @property
    def has_checks(self) -> bool:
        """Tell whether it has checks of its own."""
        ...

    def culprit(
        self, donated: list[Any], read_only: list[Any], leaves: list[Any], names: Sequence[str]
    ) -> Culprit | None:
        """Return where the first bad number comes from, the program run in steps; ``names`` are those of the leaves."""
        ...

    def lower(self, donated: list[Any], read_only: list[Any], leaves: list[Any]) -> Lowering:
        """Return the program for these arguments, to look at."""
        ...


class Lowering(Protocol):
    """A program on its way to the compiler."""

    def text(self) -> str:
        """Return the program in a language that people can read."""
        ...

    def memory(self) -> tuple[int, int, int, int, int]:
        """Return bytes of arguments, results, results in the place of arguments, what is held in between, the code."""
        ...

    def cost(self) -> tuple[float, float]:
        """Return floating operations and bytes moved by one run."""
        ...

    def collectives(self) -> list[tuple[str, int, int]]:
        """Return what devices tell each other: kinds such as ``"all-gather"``, bytes, and how often in one run."""
        ...
