"""Several processes that run one program: how they find each other, which one this is, where all wait for all."""

from __future__ import annotations

import signal
import threading
from collections.abc import Sequence
from types import FrameType
from typing import Any

from graftax.backend import registry
from graftax.backend.processes import Joining
from graftax.backend.rendezvous import Rendezvous, several
from graftax.core.errors import ArgumentError, ArgumentTypeError, StateError
from graftax.core.hyperparameters import is_number, whole
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
    """Join the other processes that were started for this program; alone, do nothing.

    Call it first: before any array, Variable or model. Under Slurm (``srun``), Open MPI (``mpirun``), Kubernetes jobs,
    torchrun and on Cloud TPUs nothing has to be told: the environment says it, where need be in the variables of
    torchrun, ``MASTER_ADDR``, ``MASTER_PORT``, ``RANK`` and ``WORLD_SIZE``. All processes get the global seed of
    process 0, so that they draw the same weights. Without it, each of several runs the whole program by itself.

    Args:
        coordinator: Where process 0 listens for the others, ``"host:port"``. Defaults to what the environment says.
        num_processes: How many there are. Defaults to what the environment says.
        process_id: The number of this one. Defaults to what the environment says.
        local_devices: Which of the devices of this machine belong to this process. Defaults to what the environment
            says, else all.
        heartbeat: Seconds without a sign of life after which a process counts as dead, which ends all. Defaults to 20.
        timeout: Seconds for which one process waits for others: here, at barriers, in a save. Defaults to 300.
        seed: The global seed. Defaults to that of process 0.

    Raises:
        ProcessError: the others cannot be reached; a launcher has started several, and nothing says where process 0
            is; devices are in use already; it was called before; or two processes were given different seeds.
        BackendCapabilityError: the backend runs in one process only.
        ArgumentError: a number is out of range, or only a part of the first three is given.

    Example:
        >>> import graftax as gx
        >>> gx.distribution.initialize()
        >>> gx.distribution.process_index(), gx.distribution.process_count()
        (0, 1)
    """
    how = Joining(
        coordinator,
        None if num_processes is None else _whole("num_processes", num_processes, 1),
        None if process_id is None else _whole("process_id", process_id, 0),
        None if local_devices is None else tuple([_whole("local_devices", one, 0) for one in local_devices]),
        _seconds("heartbeat", heartbeat),
        _seconds("timeout", timeout),
    )
    _check_told(how)
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
    """Return the number of this process, from 0; 0 for one that is alone.

    Example:
        >>> process_index()
        0
    """
    found = several()
    return 0 if found is None else found.index()


@door
def process_count() -> int:
    """Return how many processes run this program; 1 for one that is alone.

    Example:
        >>> process_count()
        1
    """
    found = several()
    return 1 if found is None else found.count()


@door
def is_main() -> bool:
    """Return True in process 0, and in one that is alone: for what is to be printed or written once.

    Nothing that all processes take part in belongs below ``if is_main():``, neither steps, saves nor reads of arrays
    that are spread over them: the others would be waited for in vain.

    Example:
        >>> if is_main():
        ...     print("once")
        once
    """
    return process_index() == 0


@door
def barrier(name: str, timeout: float | None = None) -> None:
    """Wait until all processes have come here; alone, do nothing.

    They wait on the host, so that who does not come is named, and the program may go on.

    Args:
        name: What is waited for; the same in all processes. It may be used again.
        timeout: Seconds to wait for the last after the first. Defaults to that of `initialize`.

    Raises:
        ProcessError: some did not come in time, or are dead; names them.

    Example:
        >>> barrier("data is there")
    """
    if not isinstance(name, str) or not name:
        raise ArgumentTypeError(
            f"barrier({name!r:.60})", "a barrier has a name, for messages", 'barrier("data is there")'
        )
    seconds = None if timeout is None else _seconds("timeout", timeout)
    found = several()
    if found is None:
        warn_of_copies()
    else:
        Rendezvous(found, f"barrier {name}", seconds).meet()


@door
def preempted(step: int) -> bool:
    """Return True at the step at which all processes are to save and end, since one was asked to end (SIGTERM).

    All processes get the same answer at the same step, however far apart they are when the signal comes. Ask once a
    step, with steps that count up. For one that is alone: at the next step after the signal.

    Args:
        step: The number of the step that comes next.

    Raises:
        StateError: the first call is not in the main thread, where Python hears signals.

    Example:
        >>> preempted(1)
        False
    """
    step = _whole("step", step, 0)
    found = several()
    if found is not None:
        return found.preempted(step)
    _signal.listen()
    return _signal.came


class _Signal:
    """Notes that the system has asked this process to end, from the first time that somebody asks for it."""

    def __init__(self) -> None:
        self.came = False
        self._listens = False

    def listen(self) -> None:
        """Hear of it from now on; a second signal does what the first would have done."""
        if self._listens:
            return
        if threading.current_thread() is not threading.main_thread():
            raise StateError(
                f"preempted() in the thread {threading.current_thread().name!r}",
                "Python hears signals in its main thread, and listens from the first call on",
                "ask once in the main thread before, then anywhere",
            )
        self._listens = True
        self._before = signal.signal(signal.SIGTERM, self._note)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.came = True
        signal.signal(number, self._before)


_signal = _Signal()


def _check_told(how: Joining) -> None:
    first = {"coordinator": how.coordinator, "num_processes": how.processes, "process_id": how.number}
    lacking = [name for name, value in first.items() if value is None]
    if 0 < len(lacking) < len(first):
        raise ArgumentError(
            f"initialize() without {' and '.join(lacking)}",
            "the three say together who is here: all, or none where the environment does",
            'initialize("host:1234", num_processes=2, process_id=0)',
        )
    if how.coordinator is not None and (not isinstance(how.coordinator, str) or not _is_address(how.coordinator)):
        raise ArgumentError(f"coordinator={how.coordinator!r}", "it is a host and a port", 'coordinator="host:1234"')
    if how.processes is not None and how.number is not None and how.number >= how.processes:
        raise ArgumentError(
            f"process_id={how.number} of num_processes={how.processes}",
            "processes are numbered from 0",
            f"process_id=0 to {how.processes - 1}",
        )


def _is_address(text: str) -> bool:
    host, _, port = text.rpartition(":")
    return bool(host) and port.isdecimal() and 0 < int(port) < 1 << 16


def _whole(name: str, value: object, least: int) -> int:
    found = whole(name, value, "it is a whole number", least)
    if found < least:
        raise ArgumentError(f"{name}={value!r}", f"it is at least {least}", f"{name}={least}")
    return found


def _seconds(name: str, value: Any) -> float:
    if not is_number(value) or not 0 < float(value) < 1e9:
        raise ArgumentError(f"{name}={value!r:.60}", "it is a number of seconds, above zero", f"{name}=60")
    return float(value)
