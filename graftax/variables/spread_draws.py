"""Draws in parts: random numbers of which each device computes its own, so that no device ever has them all."""

from __future__ import annotations

from typing import Any

from graftax.backend.protocol import Backend
from graftax.core.typedefs import Array, Shape


class SpreadDraws:
    """A backend, but that random numbers of one shape are drawn where they are to lie.

    What an initializer does with them then is done by each device with its part. The numbers are those of the backend:
    each draw is a program of its own, as it is without a mesh.

    Args:
        backend: The backend.
        shape: Of the draws that are spread.
        sharding: How they are to lie.
    """

    def __init__(self, backend: Backend, shape: Shape, sharding: object) -> None:
        self._backend = backend
        self.random = _SpreadRandom(backend, shape, sharding)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)


class _SpreadRandom:
    """The draws that initializers make."""

    def __init__(self, backend: Backend, shape: Shape, sharding: object) -> None:
        self._backend, self._shape, self._sharding = backend, shape, sharding

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend.random, name)

    def uniform(self, key: Array, shape: Shape, dtype: str, minval: Any = 0.0, maxval: Any = 1.0) -> Any:
        return self._spread("uniform", shape, key, shape, dtype, minval, maxval)

    def normal(self, key: Array, shape: Shape, dtype: str) -> Any:
        return self._spread("normal", shape, key, shape, dtype)

    def truncated_normal(self, key: Array, lower: float, upper: float, shape: Shape, dtype: str) -> Any:
        return self._spread("truncated_normal", shape, key, lower, upper, shape, dtype)

    def _spread(self, name: str, shape: Shape, *args: Any) -> Any:
        draw = getattr(self._backend.random, name)
        if tuple(shape) != self._shape:
            return draw(*args)
        return self._backend.meshes.make(lambda: draw(*args), self._sharding)
