"""A consistent snapshot of Variables between two steps: references to arrays, which other threads do not change.

While references are taken, no compiled step donates buffers, see `graftax.variables.state.donation`. A later step sees
that an array has another reference, and copies it instead of donating it.
"""

from collections.abc import Sequence
from typing import Any

from graftax.backend.protocol import Backend
from graftax.checkpoint.arrays import to_bytes
from graftax.core.errors import StateError
from graftax.variables.state import storage
from graftax.variables.state.donation import at_rest
from graftax.variables.variable import Variable


class Taken:
    """The array of a Variable at the time of the snapshot. Its bytes are copied to the host when it is called."""

    __slots__ = ("array", "backend", "path")

    def __init__(self, array: Any, backend: Backend, path: str) -> None:
        self.array = array
        self.backend = backend
        self.path = path

    def __call__(self) -> memoryview:
        """Return the bytes of the array on the host."""
        return to_bytes(self.backend.arrays.to_numpy(self.array), self.path)


def take(variables: Sequence[tuple[Variable, str]]) -> list[Taken]:
    """Return the arrays of the Variables with these paths, all from the same point in time.

    Raises:
        StateError: a Variable is being traced, so it has no value now.
    """
    storages = [variable._storage for variable, _ in variables]
    with at_rest(storages):
        if storage.frames.top is None and storages:
            storages[0].read()  # raises if a function is being traced by the library of the backend itself
            found = [one.buffer for one in storages]
        else:
            found = [one.read() for one in storages]
    if storage.frames.top is not None:
        for (_, path), place, value in zip(variables, storages, found, strict=True):
            if storage.tracer_of(place.backend, value):
                raise StateError(
                    f"{path} has no value now, since a function is being traced",
                    "a checkpoint inside a compiled function would be saved once, while compiling, and never again",
                    "save outside of the compiled function, between two calls of it",
                )
    named = zip(variables, storages, found, strict=True)
    return [Taken(value, place.backend, path) for (_, path), place, value in named]
