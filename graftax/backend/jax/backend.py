"""The JAX backend as a whole."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from graftax.backend.base import GROUPS, BackendBase
from graftax.backend.jax import compiler_options, foreign
from graftax.backend.jax.arrays import JaxArrays
from graftax.backend.jax.devices import JaxDevices
from graftax.backend.jax.meshes import JaxMeshes
from graftax.backend.jax.processes import JaxProcesses
from graftax.backend.jax.random import JaxRandom
from graftax.backend.protocol import Backend
from graftax.backend.wording import Wording
from graftax.core.errors import GraftaxError

if TYPE_CHECKING:
    from graftax.backend.jax.exporting import JaxExporting
    from graftax.backend.jax.transforms import JaxTransforms


class JaxBackend(BackendBase):
    """All groups; those of functions are one object."""

    name = "jax"
    groups = GROUPS
    libraries = ("jax", "jaxlib")
    notices = (foreign.NOTICE,)
    wording = Wording("jax", "JAX", "jax.jit", "scan, vmap, cond, jit, grad of jax", "jax.numpy")

    def __init__(self) -> None:
        self.arrays = JaxArrays()
        self.random = JaxRandom()
        self.devices = JaxDevices()
        self.meshes = JaxMeshes()
        self.processes = JaxProcesses()

    def translate_error(self, error: Exception) -> GraftaxError | None:
        """Return the error of graftax that says what an error of JAX means."""
        return foreign.translate(error)

    def options(self) -> dict[str, bool]:
        """Return how XLA compiles."""
        return compiler_options.options()

    def set_option(self, name: str, value: bool) -> None:
        """Tell XLA how to compile, before it starts."""
        if name not in self.options():
            super().set_option(name, value)
        compiler_options.set_option(name, value)

    @cached_property
    def tracing(self) -> JaxTransforms:
        """Return the group of levels and nested containers."""
        from graftax.backend.jax.transforms import JaxTransforms  # lazy: arrays alone need no tracing

        return JaxTransforms()

    @cached_property
    def gradients(self) -> JaxTransforms:
        """Return the group of derivatives."""
        return self.tracing

    @cached_property
    def vectorizing(self) -> JaxTransforms:
        """Return the group that computes rows together."""
        return self.tracing

    @cached_property
    def compiling(self) -> JaxTransforms:
        """Return the group that makes programs of functions."""
        return self.tracing

    @cached_property
    def control_flow(self) -> JaxTransforms:
        """Return the group of loops and branches within a program."""
        return self.tracing

    @cached_property
    def exporting(self) -> JaxExporting:
        """Return the group that writes programs down."""
        from graftax.backend.jax.exporting import JaxExporting  # lazy: few programs export

        return JaxExporting()

    @cached_property
    def callbacks(self) -> JaxTransforms:
        """Return the group that calls Python from a program."""
        return self.tracing


def create() -> Backend:
    """Make the backend; the registry calls it."""
    return JaxBackend()  # pyright: ignore[reportReturnType]  # a cached property is one, too
