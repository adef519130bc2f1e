"""The function mesh: arranges devices in a grid with named axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from graftax.backend import registry
from graftax.backend.meshes import Mesh
from graftax.backend.rendezvous import process_group
from graftax.core.errors import ArgumentError, ArgumentTypeError
from graftax.core.short_traceback import door
from graftax.distribution.launched import warn_of_copies


@door
def mesh(*, devices: Sequence[Any] | None = None, **axes: int) -> Mesh:
    """Return devices in a grid, for a `Distribution`: ``mesh(data=4, model=2)`` has four groups of two devices.

    Neighbors along the last axis should have the fastest connection: make it the axis that splits kernels.

    Args:
        devices: The devices, in order. Defaults to None: all devices of all processes. If the mesh has fewer places,
            the first devices of each process, equally many of each; the others are idle.
        **axes: The size of each axis, by name; one may be -1 for all remaining devices. Defaults to ``data=-1``.

    Returns:
        A ``jax.sharding.Mesh`` whose axes have the type Auto.

    Raises:
        ArgumentTypeError: a size is not an integer.
        ArgumentError: there are too few devices, or the sizes do not divide their number; or several processes cannot
            have equal shares of the places.
        BackendCapabilityError: the backend supports only one device.

    Example:
        >>> import graftax as gx
        >>> dict(gx.distribution.mesh(data=1, model=1).shape)
        {'data': 1, 'model': 1}
    """
    meshes = registry.current().meshes
    given = list(meshes.devices() if devices is None else devices)
    sizes = axes or {"data": -1}
    shown = f"mesh({', '.join(f'{name}={size!r}' for name, size in sizes.items())})"
    if not all(type(size) is int for size in sizes.values()):
        raise ArgumentTypeError(shown, "the size of an axis is an integer", "mesh(data=4, model=2)")
    free = [name for name, size in sizes.items() if size == -1]
    if len(free) > 1 or any(size < 1 and size != -1 for size in sizes.values()):
        reason = "one size may be -1, for all that is left" if free[1:] else "an axis has at least one device"
        raise ArgumentError(shown, reason, "mesh(data=-1, model=2)")
    known = math.prod(size for size in sizes.values() if size != -1)
    left, over = divmod(len(given), known)
    if left == 0 or (free and over):
        reason = f"{known} do not divide {len(given)} devices" if left else f"it needs {known} devices"
        raise ArgumentError(
            shown, f"{reason}, and there are {len(given)}" if not left else reason, _fewer(sizes, given)
        )
    sizes = {name: left if size == -1 else size for name, size in sizes.items()}
    places = math.prod(sizes.values())
    if devices is None:
        warn_of_copies()
        return meshes.mesh(sizes, _share_out(given, places, shown))
    return meshes.mesh(sizes, given[:places])


def _share_out(devices: list[Any], places: int, shown: str) -> list[Any]:
    """Return the first devices, as many of each process, in their order.

    Raises:
        ArgumentError: the processes cannot have equal shares.
    """
    processes = process_group()
    if processes is None or places == len(devices):
        return devices[:places]
    share, over = divmod(places, processes.count())
    rank = {device: i for mine in _by_process(devices).values() for i, device in enumerate(mine)}
    chosen = [device for device in devices if rank[device] < share]
    if over or len(chosen) != places:
        raise ArgumentError(
            f"{shown} in {processes.count()} processes",
            f"they cannot have equal shares of {places} {'places' if places > 1 else 'place'}, and each computes on "
            "devices of its own",
            "mesh(data=-1) for all devices; for a reference of one device, start the program alone",
        )
    return chosen


def _by_process(devices: list[Any]) -> dict[int, list[Any]]:
    found: dict[int, list[Any]] = {}
    for device in devices:
        found.setdefault(getattr(device, "process_index", 0), []).append(device)
    return found


def require_everyone(mesh: Mesh) -> None:
    """Raise for a mesh without devices of some process, which then could not run programs on it.

    Raises:
        ArgumentError: there is such a process; the message names it.
    """
    processes = process_group()
    if processes is None:
        return
    there = {getattr(device, "process_index", 0) for device in mesh.devices.flat}
    lacking = [str(number) for number in range(processes.count()) if number not in there]
    if lacking:
        sizes = ", ".join(f"{name}={size}" for name, size in mesh.shape.items())
        raise ArgumentError(
            f"mesh({sizes}) in {processes.count()} processes has no device of process {', '.join(lacking)}",
            "each process runs the program on devices of its own, and the first ones belong to process 0",
            "mesh(data=-1) for all devices; for less, mesh(devices=[...], data=-1) with some of each process",
        )


def _fewer(sizes: dict[str, int], devices: list[Any]) -> str:
    count = len(devices)
    if count == 1:
        return (
            f"mesh({', '.join(f'{name}=1' for name in sizes)}); to try without hardware, "
            'XLA_FLAGS="--xla_force_host_platform_device_count=8" in the environment makes eight devices of the CPU'
        )
    last = list(sizes)[-1]
    size = max(n for n in range(1, count + 1) if count % n == 0 and n <= max(abs(sizes[last]), 1))
    return f"mesh(data=-1, {last}={size})" if last != "data" else f"mesh(data={count})"
