"""What a reader gives: arrays of a file by name, of which nothing is read before it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from types import TracebackType

from graftax.checkpoint.arrays import HostArray
from graftax.core.typedefs import Shape


@dataclass(frozen=True)
class ForeignArray:
    """An array of a file: what it is like is known, its values are read when they are asked for.

    Args:
        name: As the file has it.
        shape: As the file has it.
        dtype: Its name.
        read: Gives the values.
        memory: What arrays that share their values have in common; None where the file does not say.
    """

    name: str
    shape: Shape
    dtype: str
    read: Callable[[], HostArray]
    memory: Hashable = None

    def derived(self, name: str, shape: Shape, change: Callable[[HostArray], HostArray]) -> ForeignArray:
        """Return a part of it, or the same in another order."""
        return ForeignArray(name, shape, self.dtype, lambda: change(self.read()))


def nothing_to_close() -> None:
    """Close nothing: whoever reads opens anew."""


@dataclass
class ForeignFile:
    """Arrays by name, and what else a file tells.

    Args:
        path: The file or directory.
        arrays: In the order of the file.
        source: The library that wrote it: ``"torch"``, ``"keras"``, ``"flax"``, ``"graftax"``; None where the format is
            that of several.
        keeps_order: Whether the order is that in which the layers were defined.
        labels: Names that layers were given, by the name of what holds their arrays.
        notes: What whoever loads it should know.
        close: Lets go of the file.
    """

    path: str
    arrays: dict[str, ForeignArray]
    source: str | None
    keeps_order: bool
    labels: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    close: Callable[[], None] = nothing_to_close

    def __enter__(self) -> ForeignFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()
