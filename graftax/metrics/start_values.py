"""What metrics start from, as new arrays: from the eighth on made by a program, some at once and ahead of their use."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, cast

import numpy as np

from graftax.backend.protocol import Backend
from graftax.core.typedefs import Array

_LARGEST = 1024  # bytes; the values stand in the program
_SEVERAL = 8  # a fit of a few epochs compiles nothing for that
_AT_ONCE = 16


class _Start:
    """One value, given as a new array each time: steps are given its memory to write to."""

    def __init__(self, value: np.ndarray[Any, Any], backend: Backend) -> None:
        self._value, self._backend = value, backend
        self._given = 0
        self._make: Any = None
        self._made: list[Array] = []

    def __call__(self) -> Array:
        if self._make is not None:
            # A step that waits for an array which is still being made is run in another thread, and that takes as long
            # as a small step does. Those made ahead are there.
            while True:
                try:
                    return self._made.pop()  # in one step of Python, as other threads may want one
                except IndexError:
                    self._made += self._make()
        arrays = self._backend.arrays
        self._given += 1
        if self._given == _SEVERAL:
            self._make = self._backend.compiling.compiled(self._several)
        return arrays.asarray(self._value)

    def _several(self) -> list[Array]:
        # rows of one array: of the same constant several times, a compiler may make one
        numpy = self._backend.arrays.numpy
        rows = numpy.broadcast_to(self._backend.arrays.asarray(self._value), (_AT_ONCE, *self._value.shape))
        return [rows[i] for i in range(_AT_ONCE)]


@lru_cache(maxsize=256)
def _start(backend: Backend, dtype: np.dtype[Any], shape: tuple[int, ...], values: bytes) -> _Start:
    return _Start(np.frombuffer(values, dtype).reshape(shape), backend)


def new_array(value: np.ndarray[Any, Any], backend: Backend) -> Array:
    """Return a native array of these values that nobody else has.

    Args:
        value: An array on the host. A small one is remembered.
        backend: Whose array it becomes.
    """
    if value.nbytes > _LARGEST or not backend.has("compiling"):
        return backend.arrays.asarray(value)
    return _start(cast(Any, backend), value.dtype, value.shape, value.tobytes())()
