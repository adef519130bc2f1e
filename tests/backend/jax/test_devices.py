"""Names of devices: those of this process, which need not begin at 0."""

from typing import NamedTuple

import pytest

from graftax.backend.jax import devices
from graftax.core.errors import ArgumentError


class Device(NamedTuple):
    platform: str
    id: int


def test_a_platform_alone_is_its_first_device_of_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "_all_devices", lambda: [Device("gpu", 9), Device("gpu", 8), Device("cpu", 4)])
    found = devices.JaxDevices()
    assert [found.find(name) for name in ("gpu", "CPU", "gpu:8")] == ["gpu:9", "cpu:4", "gpu:8"]
    with pytest.raises(ArgumentError, match="no such device"):
        found.find("cpu:0")  # of another process
