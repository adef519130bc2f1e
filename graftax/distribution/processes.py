"""Several processes that run one program: connecting them, their numbers, and barriers."""

from __future__ import annotations

import signal
import threading
from collections.abc import Sequence
from types import FrameType
from typing import Any

from graftax.backend import registry
from graftax.backend.processes import Joining
from graftax.backend.rendezvous import Rendezvous, process_group
from graftax.core.errors import ArgumentError, ArgumentTypeError, StateError
from graftax.core.hyperparameters import check_integer, is_number
from graftax.core.short_traceback import door
from graftax.distribution.launched import warn_of_copies
from graftax.variables import keys, streams


@door
def initialize(
    coordinator: str | None = None,
    num_processes: int | None = None,
    process_id: int | None = None,
    *,
    local_devices: Sequence[int] | None = None,
    heartbeat: float = 20,
    timeout: float = 300,
    seed: int | None = None,
) -> None:
    """Connect to the other processes of this program; with a single process, do nothing.

    Call it first: before any array, Variable or model is created. Under Slurm (``srun``), Open MPI (``mpirun``),
    Kubernetes jobs, torchrun and on Cloud TPUs no arguments are needed. Elsewhere, set the variables of torchrun:
    ``MASTER_ADDR``, ``MASTER_PORT``, ``RANK`` and ``WORLD_SIZE``. All processes get the global seed of process 0, so
    that they draw the same weights. Without this call, each of several processes runs the whole program by itself.

    Args:
        coordinator: The address ``"host:port"`` of process 0. Defaults to None: from the environment.
        num_processes: The number of processes. Defaults to None: from the environment.
        process_id: The number of this process, from 0. Defaults to None: from the environment.
        local_devices: The numbers of the devices of this machine that belong to this process. Defaults to None: from
            the environment, or else all.
        heartbeat: Seconds without a heartbeat after which a process counts as dead, which ends all others. Defaults to
            20.
        timeout: Seconds that a process waits for others: here, at barriers, in a save. Defaults to 300.
        seed: The global seed. Defaults to that of process 0.

    Raises:
        ProcessError: the others cannot be reached; a launcher has started several, and nothing says where process 0
            is; devices are in use already; it was called before; or two processes were given different seeds.
        BackendCapabilityError: the backend supports only one process.
        ArgumentError: a number is out of range, or only a part of the first three is given.

    Example:
        >>> import graftax as gx
        >>> gx.distribution.initialize()
        >>> gx.distribution.process_index(), gx.distribution.process_count()
        (0, 1)
    """
    how = Joining(
        coordinator,
        None if num_processes is None else _check_whole("num_processes", num_processes, 1),
        None if process_id is None else _check_whole("process_id", process_id, 0),
        None if local_devices is None else tuple([_check_whole("local_devices", one, 0) for one in local_devices]),
        _seconds("heartbeat", heartbeat),
        _seconds("timeout", timeout),
    )
    _check_settings(how)
    chosen = None if seed is None else keys.checked_seed(seed)
    processes = registry.current().processes
    if not processes.join(how):
        if chosen is not None:
            streams.set_random_seed(chosen)
        return
    meeting = Rendezvous(processes, "initialize")
    told = "that of process 0" if chosen is None else str(chosen)
    meeting.agree([("seed", told)], "initialize(seed=0), the same number in all; or none, for that of process 0")
    if processes.index() == 0:
        meeting.announce("shared", str(keys.get_random_seed() if chosen is None else chosen).encode())
    streams.set_random_seed(int(meeting.heard("shared")))


@door
def process_index() -> int:
    """Return the number of this process, from 0; 0 for a single process.

    Example:
        >>> process_index()
        0
    """
    found = process_group()
    return 0 if found is None else found.index()


@door
def process_count() -> int:
    """Return the number of processes of this program; 1 for a single process.

    Example:
        >>> process_count()
        1
    """
    found = process_group()
    return 1 if found is None else found.count()


@door
def is_main() -> bool:
    """Return True in process 0, and in a single process: for output that is printed or written once.

    Do not put collective work below ``if is_main():``, such as steps, saves, or reads of arrays that are sharded over
    processes: process 0 would wait for the others forever.

    Example:
        >>> if is_main():
        ...     print("once")
        once
    """
    return process_index() == 0


@door
def barrier(name: str, timeout: float | None = None) -> None:
    """Wait until all processes have reached this point; with a single process, do nothing.

    The wait is on the host, so the error can name a missing process, and the program can continue after it.

    Args:
        name: The name of the barrier; the same in all processes. It may be used again.
        timeout: Seconds from the first to the last process. Defaults to that of `initialize`.

    Raises:
        ProcessError: some processes timed out or are dead; the message names them.

    Example:
        >>> barrier("data is there")
    """
    if not isinstance(name, str) or not name:
        raise ArgumentTypeError(
            f"barrier({name!r:.60})", "a barrier has a name, for messages", 'barrier("data is there")'
        )
    seconds = None if timeout is None else _seconds("timeout", timeout)
    found = process_group()
    if found is None:
        warn_of_copies()
    else:
        Rendezvous(found, f"barrier {name}", seconds).meet()


@door
def preempted(step: int) -> bool:
    """Return True at the step at which all processes must save and stop, after one has received SIGTERM.

    All processes get the same answer at the same step, even if they are at different steps when the signal arrives.
    Call it once a step, with increasing numbers. For a single process, it is the next step after the signal.

    Args:
        step: The number of the next step.

    Raises:
        StateError: the first call is not in the main thread, where Python receives signals.

    Example:
        >>> preempted(1)
        False
    """
    step = _check_whole("step", step, 0)
    found = process_group()
    if found is not None:
        return found.preempted(step)
    _signal.listen()
    return _signal.came


class _Signal:
    """Records the arrival of SIGTERM, from the first call on."""

    def __init__(self) -> None:
        self.came = False
        self._listens = False

    def listen(self) -> None:
        """Install the signal handler. A second signal has its normal effect."""
        if self._listens:
            return
        if threading.current_thread() is not threading.main_thread():
            raise StateError(
                f"preempted() in the thread {threading.current_thread().name!r}",
                "Python receives signals only in its main thread, and listens from the first call on",
                "ask once in the main thread before, then anywhere",
            )
        self._listens = True
        self._before = signal.signal(signal.SIGTERM, self._note)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.came = True
        signal.signal(number, self._before)


_signal = _Signal()


def _check_settings(settings: Joining) -> None:
    first = {"coordinator": settings.coordinator, "num_processes": settings.processes, "process_id": settings.number}
    lacking = [name for name, value in first.items() if value is None]
    if 0 < len(lacking) < len(first):
        raise ArgumentError(
            f"initialize() without {' and '.join(lacking)}",
            "the three say together who is here: all, or none where the environment does",
            'initialize("host:1234", num_processes=2, process_id=0)',
        )
    if settings.coordinator is not None and (
        not isinstance(settings.coordinator, str) or not _is_address(settings.coordinator)
    ):
        raise ArgumentError(
            f"coordinator={settings.coordinator!r}", "it is a host and a port", 'coordinator="host:1234"'
        )
    if settings.processes is not None and settings.number is not None and settings.number >= settings.processes:
        raise ArgumentError(
            f"process_id={settings.number} of num_processes={settings.processes}",
            "processes are numbered from 0",
            f"process_id=0 to {settings.processes - 1}",
        )


def _is_address(text: str) -> bool:
    host, _, port = text.rpartition(":")
    return bool(host) and port.isdecimal() and 0 < int(port) < 1 << 16


def _check_whole(name: str, value: object, least: int) -> int:
    found = check_integer(name, value, "it is a whole number", least)
    if found < least:
        raise ArgumentError(f"{name}={value!r}", f"it is at least {least}", f"{name}={least}")
    return found


def _seconds(name: str, value: Any) -> float:
    if not is_number(value) or not 0 < float(value) < 1e9:
        raise ArgumentError(f"{name}={value!r:.60}", "it is a number of seconds, above zero", f"{name}=60")
    return float(value)
