"""Processes of JAX: its coordination service, and arrays over the devices of several processes."""

from __future__ import annotations

import atexit
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import jax
import jax.core
import numpy as np

from graftax.backend.jax import foreign, launchers, tracing
from graftax.backend.jax.leaving import leave_after_error
from graftax.backend.processes import Held, Joining, Started
from graftax.core.errors import ProcessError
from graftax.core.typedefs import Shape


class JaxProcesses:
    """Those that `jax.distributed` knows."""

    def __init__(self) -> None:
        self.timeout = 300.0

    def join(self, how: Joining) -> bool:
        """Call `jax.distributed.initialize`, with what it finds out itself where nothing is given."""
        settings = launchers.with_torchrun_settings(how)
        if tracing.coordination() is not None:
            raise ProcessError(
                f"this process is number {self.index()} of {self.count()} already",
                "a process joins the others once",
                "one call of graftax.distribution.initialize() at the beginning of the program",
            )
        is_configured = settings[:3] != (None, None, None) or "JAX_COORDINATOR_ADDRESS" in os.environ
        if not is_configured and not _are_found():
            settings = launchers.with_partial_settings(settings)
            if settings.coordinator is None:
                _require_alone()
                return False
        # JAX would ask Slurm or Kubernetes, which may be there as well, for the devices of this process
        method = "deactivate" if how.coordinator is None and settings.coordinator is not None else None
        try:
            jax.distributed.initialize(
                settings.coordinator,
                settings.processes,
                settings.number,
                None if settings.local_devices is None else list(settings.local_devices),
                cluster_detection_method=method,
                initialization_timeout=max(1, round(settings.timeout)),
                heartbeat_timeout_seconds=max(1, round(settings.heartbeat)),
                shutdown_timeout_seconds=max(1, round(settings.timeout)),
            )
        except ValueError as error:
            raise ProcessError(
                f"coordinator={settings.coordinator!r}, num_processes={settings.processes}, "
                f"process_id={settings.number}",
                f"that does not say who is here: {error}",
                'graftax.distribution.initialize("host:port", num_processes=2, process_id=0), or all left out under '
                "srun, mpirun, Kubernetes, torchrun or on a TPU",
            ) from error
        except RuntimeError as error:
            raise _not_joined(error, settings) from error
        self.timeout = settings.timeout
        atexit.register(leave_after_error, self)  # before JAX waits for the others, since this is registered later
        return True

    def started(self) -> Started | None:
        """Return what the environment says."""
        return launchers.detect_launcher()

    def index(self) -> int:
        """Return the number of this process; starts no devices."""
        return tracing.coordination_place()[0]

    def count(self) -> int:
        """Return how many there are; starts no devices."""
        return tracing.coordination_place()[1]

    def put(self, key: str, value: bytes) -> None:
        """Tell all processes."""
        with _translate_errors():
            _client().key_value_set_bytes(key, value)

    def get(self, key: str, timeout: float) -> bytes:
        """Wait until somebody tells."""
        with _translate_errors():
            found: bytes = _client().blocking_key_value_get_bytes(key, _milliseconds(timeout))
        return found

    def list_values(self, folder: str) -> dict[str, bytes]:
        """Return what was said."""
        begin = len(folder) + 1
        with _translate_errors():
            return {key[key.index(folder) + begin :]: bytes(v) for key, v in _client().key_value_dir_get_bytes(folder)}

    def forget(self, folder: str) -> None:
        """Forget what was said."""
        with _translate_errors():
            _client().key_value_delete(f"{folder}/")

    def barrier(self, name: str, timeout: float) -> None:
        """Wait at the coordination service."""
        with _translate_errors():
            _client().wait_at_barrier(name, _milliseconds(timeout))

    def preempted(self, step: int) -> bool:
        """Ask the service, which hears of a SIGTERM to any process."""
        manager = tracing.preemption_manager()
        return manager is not None and bool(manager.reached_sync_point(step))

    def is_spread(self, array: Any) -> bool:
        """Tell whether its sharding has several devices."""
        return (
            isinstance(array, jax.Array)
            and not isinstance(array, jax.core.Tracer)
            and len(array.sharding.device_set) > 1
        )

    def boxes(self, array: Any) -> Sequence[Held] | None:
        """Return the boxes of its sharding, each once."""
        if not isinstance(array, jax.Array) or array.is_fully_addressable:
            return None
        found: dict[tuple[Shape, Shape], set[int]] = {}
        for device, index in array.sharding.devices_indices_map(array.shape).items():
            holder: Any = device
            found.setdefault(_box(index, array.shape), set()).add(holder.process_index)
        return [Held(*box, tuple(sorted(holders))) for box, holders in sorted(found.items())]

    def part(self, array: Any, start: Shape, extent: Shape) -> np.ndarray[Any, Any]:
        """Return it from the shard that has it; the rest of that stays on its device where that may save something."""
        for shard in array.addressable_shards:
            low, size = _box(shard.index, array.shape)
            if all(b <= s and s + e <= b + n for b, s, e, n in zip(low, start, extent, size, strict=True)):
                inner = tuple(slice(s - b, s - b + e) for b, s, e in zip(low, start, extent, strict=True))
                is_on_host = shard.data.sharding.device_set.pop().platform == "cpu"
                try:
                    is_whole = size == extent or is_on_host
                    return np.asarray(shard.data)[inner] if is_whole else np.asarray(shard.data[inner])
                except RuntimeError as error:
                    if (process_error := foreign.lost_others_error(error)) is None:
                        raise
                    raise process_error from error
        raise ProcessError(
            f"the box of {extent} at {start} of an array of shape {array.shape}",
            f"no device of process {self.index()} has all of it",
            "one of graftax.backend's boxes(array) that names this process",
        )

    def fill(self, like: Any, read: Callable[[Shape, Shape], np.ndarray[Any, Any]]) -> Any:
        """Make it shard by shard; a box that several devices need is read once."""
        known: dict[tuple[Shape, Shape], np.ndarray[Any, Any]] = {}

        def box(index: tuple[slice, ...]) -> np.ndarray[Any, Any]:
            place = _box(index, like.shape)
            if place not in known:
                known[place] = read(*place)
            return known[place]

        make: Any = jax.make_array_from_callback
        return make(like.shape, like.sharding, box)


def _are_found() -> bool:
    """Tell whether JAX finds the others by itself.

    Raises:
        ProcessError: the API of Kubernetes does not answer.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a package is missing, which is told where it is needed
        try:
            return tracing.is_in_cluster("K8sCluster" if launchers.is_of_no_job() else "")
        except Exception as error:  # of a library that may not be there
            raise _no_kubernetes_settings(error) from error


def _no_kubernetes_settings(error: Exception) -> ProcessError:
    return ProcessError(
        f"initialize() in a pod of Kubernetes: {type(error).__name__}: {str(error)[:300]}",
        "JAX asks the API of Kubernetes who is there, for which the account of the pod needs the right to read pods "
        "and jobs, and the Job a headless service",
        f"{_WHERE[launchers.KUBERNETES]}, with which nobody is asked",
    )


def _require_alone() -> None:
    """Raise if somebody started this process as one of several, and nothing says where the others are.

    Raises:
        ProcessError: with what to tell.
    """
    found = launchers.detect_launcher()
    if found is None:
        return
    count = "so many" if found.processes is None else str(found.processes)
    raise ProcessError(
        f"initialize() in process {found.number} of {count}, started by {found.launcher} ({found.evidence})",
        "nothing says where process 0 is, and each would run by itself",
        _WHERE.get(found.launcher, f'initialize("host:1234", {count}, {found.number})')
        + "; where each is to run by itself, no initialize()",
    )


_WHERE = {
    launchers.KUBERNETES: "MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE in the env: of the container",
    "Open MPI": "mpirun -x MASTER_ADDR=host -x MASTER_PORT=29500 -n ..., with the host of process 0",
    "MPI": "MASTER_ADDR and MASTER_PORT in the environment, the host of process 0 and a free port there",
}


def _not_joined(error: RuntimeError, settings: Joining) -> ProcessError:
    if "must be called before" in str(error):
        return ProcessError(
            "graftax.distribution.initialize() after JAX has started its devices",
            "which devices there are, and of which processes, is settled when the first array is made",
            "call it first: before any array, Variable, model or jax.devices(); imports may come before it",
        )
    if settings.coordinator is None and "KUBERNETES_SERVICE_HOST" in os.environ:
        return _no_kubernetes_settings(error)
    where = settings.coordinator or "its address is what the environment says"
    return ProcessError(
        f"process {settings.number if settings.number is not None else '?'} of {settings.processes or '?'} waited "
        f"{settings.timeout:g} s for the others at process 0 ({where}): {str(error)[:300]}",
        "all processes are to start within that time, and must reach that address",
        "start them all; or look at the address and the firewall; or initialize(timeout=...)",
    )


def _client() -> Any:
    found = tracing.coordination()
    if found is None:
        raise ConnectionError("this process has joined no others")
    return found


def _milliseconds(seconds: float) -> int:
    return max(1, round(1000 * seconds))


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Tell errors of the service in those of Python."""
    try:
        yield
    except jax.errors.JaxRuntimeError as error:
        message = str(error)
        raise (TimeoutError if message.startswith("DEADLINE_EXCEEDED") else ConnectionError)(message) from error


def _box(index: tuple[slice, ...], shape: Shape) -> tuple[Shape, Shape]:
    """Return start and extent of what slices choose."""
    spans = [part.indices(size)[:2] for part, size in zip(index, shape, strict=True)]
    return tuple([low for low, _ in spans]), tuple([high - low for low, high in spans])
