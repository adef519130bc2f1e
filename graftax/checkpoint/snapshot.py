"""All Variables as they are between two steps: references to arrays, which the steps of other threads leave alone.

While references are taken no compiled step gives buffers away, see `graftax.variables.state.donation`. Whoever then
runs a step sees that somebody else holds an array, and copies it rather than give it to the step.
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
    """The array of a Variable, as it was; its bytes come to the host when they are asked for."""

    __slots__ = ("array", "backend", "path")

    def __init__(self, array: Any, backend: Backend, path: str) -> None:
        self.array = array
        self.backend = backend
        self.path = path

    def __call__(self) -> memoryview:
        """Return the bytes of the array on the host."""
        return to_bytes(self.backend.arrays.to_numpy(self.array), self.path)


def take(variables: Sequence[tuple[Variable, str]]) -> list[Taken]:
    """Return the arrays of Variables with these paths, all from the same moment.

    Raises:
        StateError: one is being traced, so that there is no value now.
    """
    storages = [variable._storage for variable, _ in variables]
    with at_rest(storages):
        if storage.frames.top is None and storages:
            storages[0].read()  # raises where a function of the library is being traced
            found = [one.buffer for one in storages]
        else:
            found = [one.read() for one in storages]
    taken = []
    is_traced = storage.frames.top is not None
    for (_, path), place, value in zip(variables, storages, found, strict=True):
        backend = place.backend
        if is_traced and storage.tracer_of(backend, value):
            raise StateError(
                f"{path} has no value now, since a function is being traced",
                "a checkpoint inside a compiled function would be saved once, while compiling, and never again",
                "save outside of the compiled function, between two calls of it",
            )
        taken.append(Taken(value, backend, path))
    return taken
