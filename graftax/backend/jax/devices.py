"""The devices of JAX."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Protocol

import jax
import numpy as np

from graftax.backend.host import copy_for_device
from graftax.core.errors import ArgumentError


class _Device(Protocol):
    """What is used of `jax.Device`, which JAX does not describe as a class."""

    id: int
    platform: str


class JaxDevices:
    """Listing, placing, waiting."""

    def list(self) -> list[str]:
        """Return names such as ``cpu:0`` and ``gpu:1``, the default device first."""
        return [_name(device) for device in _all_devices()]

    def put(self, x: Any, device: str) -> Any:
        """Return the array on a device; ``"gpu"`` alone means its first one.

        Raises:
            ArgumentError: there is no such device.
        """
        return jax.device_put(
            copy_for_device(x) if isinstance(x, np.ndarray) else jax.numpy.array(x), self._find(device)
        )

    def scope(self, device: str | None) -> AbstractContextManager[Any]:
        """Put what is not placed in the block on the device; None for the default one."""
        manager: AbstractContextManager[Any] = jax.default_device(None if device is None else self._find(device))
        return manager

    def move(self, x: Any, device: str | None) -> Any:
        """Return the values on a device, None for the default one; gradients of what follows go the same way back."""
        return jax.device_put(x, _default() if device is None else self._find(device))

    def find(self, device: str) -> str:
        """Return the whole name of a device.

        Raises:
            ArgumentError: there is no such device.
        """
        return _name(self._find(device))

    def _find(self, device: str) -> _Device:
        wanted = device.lower()
        for candidate in _all_devices():
            if wanted in (_name(candidate), candidate.platform):  # of this process, whose first one may be cpu:8
                return candidate
        raise ArgumentError(f"device {device!r}", "this process has no such device", f"one of {', '.join(self.list())}")

    def wait(self, x: Any) -> Any:
        """Block until every array of the structure is computed, and return it."""
        return jax.block_until_ready(x)


def _default() -> Any:
    """Return the device of the innermost scope, else the first."""
    config: Any = jax.config
    found = config.jax_default_device
    return jax.local_devices()[0] if found is None or isinstance(found, str) else found


def _all_devices() -> list[_Device]:
    devices: list[Any] = list(jax.local_devices())
    if devices[0].platform != "cpu":
        devices += jax.local_devices(backend="cpu")
    return devices


def _name(device: _Device) -> str:
    return f"{device.platform}:{device.id}"
