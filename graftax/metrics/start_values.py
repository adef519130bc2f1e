"""What metrics start from, as new arrays: from the eighth on made by a program, in a third of the time."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, cast

import numpy as np

from graftax.backend.protocol import Backend
from graftax.core.typedefs import Array

_LARGEST = 1024  # bytes; the values stand in the program
_SEVERAL = 8  # a fit of a few epochs compiles nothing for that


class _Start:
    """One value, given as a new array each time: steps are given its memory to write to."""

    def __init__(self, value: np.ndarray[Any, Any], backend: Backend) -> None:
        self._value, self._backend = value, backend
        self._given = 0
        self._make: Any = None

    def __call__(self) -> Array:
        if self._make is not None:
            # what a program gives is ready when it is there, so that a small step runs at once, in this thread
            return self._make()  # type: ignore[no-any-return]
        arrays = self._backend.arrays
        self._given += 1
        if self._given == _SEVERAL:
            self._make = self._backend.compiling.compiled(lambda: arrays.asarray(self._value))
        return arrays.asarray(self._value)


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
