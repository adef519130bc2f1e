"""Pack: several small buffers of one dtype in the memory of one, because each array that a call passes costs time."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from graftax.core.typedefs import Array
from graftax.variables.state.donation import Donation, at_rest, lock, wait_for_buffer
from graftax.variables.state.storage import Moves, Storage
from graftax.variables.state.unallocated import is_allocated

T = TypeVar("T")

_SMALL = 64 * 1024  # bytes; to copy a larger array costs more than to pass it
_MOST = 16  # in a pack that is taken apart where it is used; compiling a larger one takes longer, and saves little


class Pack:
    """Storages that share one buffer, in which their elements stand in a row.

    A compiled function takes and gives the row. Whoever reads one of the storages makes it fall into parts, which are
    kept as long as the row stays what it is; whoever assigns one leaves only parts, until the row is asked for again.
    To a storage it looks like a list of buffers, its ``place``.

    Args:
        storages: At least one; from now on their buffers are here.
    """

    __slots__ = ("__weakref__", "_parts", "backend", "place", "shapes", "storages")

    def __init__(self, storages: Sequence[Storage]) -> None:
        self.storages = tuple(storages)
        self.backend = storages[0].backend
        self.place: tuple[list[Any], int] = [None], 0
        """The list that the row is in, and where; None stands there while there are only parts."""
        with at_rest(storages):
            buffers = [storage.buffer for storage in storages]
            self.shapes = tuple(tuple(buffer.shape) for buffer in buffers)
            self._parts: list[Any] | None = buffers
            for i, storage in enumerate(storages):
                before, index = storage.place
                before[index] = None  # so that it keeps nothing alive
                storage.place = self, i
            Moves.count += 1

    def is_of(self, storages: Sequence[Storage]) -> bool:
        """Return True if just these storages, in this order, have their buffers here."""
        return self.storages == tuple(storages) and all(storage.place[0] is self for storage in storages)

    # --- as a whole ---------------------------------------------------------------------------------------------------

    def join(self) -> None:
        """Let there be the row alone, which is about to change."""
        if self._parts is None:
            return
        with lock:
            holder, index = self.place
            # once more, under the lock: another thread may have joined them, or assigned a part, since the first look
            if self._parts is not None and holder[index] is None:
                with self.backend.arrays.eager():
                    holder[index] = self.backend.arrays.join(self._parts)
            self._parts = None

    @property
    def buffer(self) -> Array:
        """Return the row alone."""
        while True:
            self.join()
            row = wait_for_buffer(self)
            if row is not None:  # else somebody has just assigned a part
                return row  # type: ignore[no-any-return]

    @buffer.setter
    def buffer(self, value: Array) -> None:
        with lock:
            holder, index = self.place
            self._parts = None
            holder[index] = value

    @property
    def path(self) -> str:
        """Return those of the storages, for messages."""
        return ", ".join(storage.path for storage in self.storages)

    # --- as a list of buffers -----------------------------------------------------------------------------------------

    def __getitem__(self, index: int) -> Array:
        parts = self._parts
        return (self._split() if parts is None else parts)[index]  # type: ignore[no-any-return]

    def _split(self) -> list[Any]:
        while True:
            with lock:
                if self._parts is not None:
                    return self._parts
                holder, place = self.place
                row = holder[place]
                if type(row) is not Donation:
                    self._parts = self._parts_of(row)
                    return self._parts
            if (row := row.wait(self)) is not None:
                return self._parts_of(row)

    def _parts_of(self, row: Array) -> list[Any]:
        with self.backend.arrays.eager():
            parts: list[Any] = self.backend.arrays.split(row, self.shapes)
        return parts

    def __setitem__(self, index: int, value: Array) -> None:
        """Assign a part, under the lock and not while a step has the row: see `at_rest`."""
        if self[index] is value:  # nothing changes, and the row stays whole
            return
        parts = self._parts
        holder, place = self.place
        if holder[place] is not None:
            holder[place] = None
            Moves.count += 1
        parts[index] = value  # type: ignore[index]


def pack_of(storages: Sequence[Storage]) -> Pack:
    """Return the one that these storages are in already, or a new one."""
    there = storages[0].place[0]
    return there if isinstance(there, Pack) and there.is_of(storages) else Pack(storages)


def in_groups(kinds: Iterable[tuple[T, Hashable | None]], most: int = _MOST) -> Iterator[list[T]]:
    """Yield things of one kind together, as many as a pack may have; those without a kind each by itself."""
    found: dict[Hashable, list[T]] = {}
    for thing, kind in kinds:
        found.setdefault((id(thing),) if kind is None else kind, []).append(thing)
    for alike in found.values():
        for start in range(0, len(alike), most):
            yield alike[start : start + most]


def place_of(storage: Storage, small: bool = True) -> Hashable | None:
    """Return what is equal for storages that may share a pack: its dtype and devices; None for none.

    Args:
        storage: The storage.
        small: Whether a large one may not, since it would be copied into the pack and out of it.
    """
    if storage.home is not None and storage.home.splits:  # in a row it could not stay split
        return None
    if not is_allocated(storage):
        return None
    buffer: Any = storage.buffer
    if small and buffer.nbytes > _SMALL:
        return None
    return str(buffer.dtype), str(getattr(buffer, "sharding", ""))


def shares_row(row: Sequence[Storage]) -> bool:
    """Return True if storages whose values are read as one array may share a pack, which is that array."""
    places = {place_of(storage, small=False) for storage in row}
    return len(places) == 1 and None not in places
