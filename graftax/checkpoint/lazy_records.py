"""Records of an index that are decoded at their first access: a partial restore needs few of thousands."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, TypeVar, overload

from graftax.checkpoint import values

T = TypeVar("T")


class LazyRecords(Sequence[T], Generic[T]):
    """A sequence of records, each decoded and checked once, at its first access.

    Args:
        body: The bytes of the index.
        places: The offset of each record in the body, and the end of the last one.
        made: A function of the decoded msgpack value of a record and its number that returns the checked record.
    """

    def __init__(self, body: bytes | memoryview, places: Sequence[int], decode: Callable[[Any, int], T]) -> None:
        self._body = memoryview(body)
        self._places = places
        self._made = decode
        self._known: dict[int, T] = {}

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        known = self._known.get(index)
        if known is None:
            if not 0 <= index < len(self):
                raise IndexError(index)
            raw = values.unpack(self._body[self._places[index] : self._places[index + 1]])
            known = self._known[index] = self._made(raw, index)
        return known

    def __iter__(self) -> Iterator[T]:
        for i, raw in enumerate(self.iterate_raw()):
            if i not in self._known:
                self._known[i] = self._made(raw, i)
            yield self._known[i]

    def iterate_raw(self) -> Iterator[Any]:
        """Yield the decoded msgpack value of each record, unchecked."""
        return values.unpack_stream(self._body[self._places[0] : self._places[-1]])

    def __len__(self) -> int:
        return len(self._places) - 1

    def __reduce__(self) -> tuple[Any, ...]:
        """Return a reduction to a plain tuple, for copies and pickles."""
        return tuple, (list(self),)
