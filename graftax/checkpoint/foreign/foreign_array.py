"""The result of a reader: the arrays of a file by name, each read at its first access."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from types import TracebackType

from graftax.checkpoint.arrays import HostArray
from graftax.checkpoint.header_facts import NO_HEAD, NONE, Facts, Head
from graftax.core.typedefs import Shape


@dataclass(frozen=True)
class ForeignArray:
    """An array of a file: its shape and dtype are known, its values are read when they are needed.

    Args:
        name: As in the file.
        shape: As in the file.
        dtype: The name of its dtype.
        read: Returns the values.
        memory: A key that is equal for arrays that share memory; None if the file does not say.
    """

    name: str
    shape: Shape
    dtype: str
    read: Callable[[], HostArray]
    memory: Hashable = None

    def derive(self, name: str, shape: Shape, change: Callable[[HostArray], HostArray]) -> ForeignArray:
        """Return an array that is computed from this one: a part, or a reordering."""
        return ForeignArray(name, shape, self.dtype, lambda: change(self.read()))


def nothing_to_close() -> None:
    """Close nothing, since every read opens the file again."""


@dataclass
class ForeignFile:
    """The arrays of a file by name, and its metadata.

    Args:
        path: The file or directory.
        arrays: The arrays, in the order of the file.
        source: The library that wrote it: ``"torch"``, ``"keras"``, ``"flax"``, ``"graftax"``; None if several
            libraries use the format.
        keeps_order: Whether arrays are in the order in which their layers were defined.
        labels: The ``name`` of layers, by the name of the group that holds their arrays.
        notes: Notes for the report.
        close: Closes the file.
        facts: What a file of graftax says of objects besides arrays.
        head: What it says of the whole checkpoint.
        others: Further paths of arrays that are held several times.
    """

    path: str
    arrays: dict[str, ForeignArray]
    source: str | None
    keeps_order: bool
    labels: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    close: Callable[[], None] = nothing_to_close
    facts: Facts = NONE
    head: Head = NO_HEAD
    others: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __enter__(self) -> ForeignFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()
