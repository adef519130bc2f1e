"""The reference backend as a whole."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any, cast

from graftax.backend.base import BackendBase
from graftax.backend.numpy.arrays import NumpyArrays
from graftax.backend.numpy.random import NumpyRandom
from graftax.backend.protocol import Backend
from graftax.backend.wording import Wording
from graftax.core.errors import ArgumentError


class NumpyDevices:
    """The one device of NumPy: the host."""

    def list(self) -> list[str]:
        """Return ``["cpu:0"]``."""
        return ["cpu:0"]

    def put(self, x: Any, device: str) -> Any:
        """Return the array itself.

        Raises:
            ArgumentError: the device is not the host.
        """
        if device.lower() not in ("cpu", "cpu:0"):
            raise ArgumentError(f"device {device!r}", "the numpy backend computes on the host only", '"cpu:0"')
        return x

    def move(self, x: Any, device: str | None) -> Any:
        """Return the array itself."""
        return x if device is None else self.put(x, device)

    def find(self, device: str) -> str:
        """Return ``"cpu:0"``.

        Raises:
            ArgumentError: the device is not the host.
        """
        self.put(None, device)
        return "cpu:0"

    def scope(self, device: str | None) -> AbstractContextManager[None]:
        """Do nothing: everything is on the host."""
        if device is not None:
            self.put(None, device)
        return nullcontext()

    def wait(self, x: Any) -> Any:
        """Do nothing: there is nothing to wait for."""
        return x


class NumpyBackend(BackendBase):
    """Arrays, random numbers and the host; nothing is traced, so there are no gradients and no compilation."""

    name = "numpy"
    groups = ("arrays", "random", "devices")
    libraries = ("numpy",)
    wording = Wording("numpy", "NumPy", namespace="numpy")

    def __init__(self) -> None:
        self.arrays = NumpyArrays()
        self.random = NumpyRandom()
        self.devices = NumpyDevices()


def create() -> Backend:
    """Make the backend; the registry calls it."""
    return cast(Backend, NumpyBackend())
