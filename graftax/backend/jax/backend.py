"""The JAX backend as a whole."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from graftax.backend.jax.arrays import JaxArrays
from graftax.backend.jax.devices import JaxDevices
from graftax.backend.jax.random import JaxRandom
from graftax.backend.protocol import Backend
from graftax.backend.registry import BackendBase

if TYPE_CHECKING:
    from graftax.backend.jax.transforms import JaxTransforms


class JaxBackend(BackendBase):
    """Arrays, random numbers, transforms and devices of JAX."""

    name = "jax"
    groups = ("arrays", "random", "transforms", "devices")

    def __init__(self) -> None:
        self.arrays = JaxArrays()
        self.random = JaxRandom()
        self.devices = JaxDevices()

    @cached_property
    def transforms(self) -> JaxTransforms:
        """Tracing, gradients, compilation."""
        from graftax.backend.jax.transforms import JaxTransforms  # lazy: arrays alone need no tracing

        return JaxTransforms()


def create() -> Backend:
    """The factory that the registry calls."""
    return JaxBackend()  # pyright: ignore[reportReturnType]  # a cached property is one, too
