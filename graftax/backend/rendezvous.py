"""Where processes of one program meet, by name: what each says, who is missing, who would do something else.

Nobody waits in a computation of devices, which could neither be given up nor say who is missing.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import blake2b
from threading import Lock

from graftax.backend import registry
from graftax.backend.processes import Processes
from graftax.core.errors import ProcessError

_met: Counter[str] = Counter()
_lock = Lock()
_SHOWN = 60
_GIVEN_UP = b"!"
FAILED = "graftax/failed"
"""Where a process tells which exception ends it."""
AGAIN = "start all processes again: they go on from the last checkpoint; a supervisor does it by itself"
_WHY = "all processes run one program on one state, each on its share"


def process_group() -> Processes | None:
    """Return the processes of this run; None for one that is alone."""
    backend = registry.current()
    found = backend.processes if backend.has("processes") else None
    return found if found is not None and found.count() > 1 else None


class Rendezvous:
    """One occasion at which all processes meet. Make it in all of them, as often and in the same order.

    Args:
        processes: The processes.
        name: What is met for; meetings of one name are counted.
        timeout: Seconds to wait for others. Defaults to what the processes were started with.
    """

    def __init__(self, processes: Processes, name: str, timeout: float | None = None) -> None:
        self.processes = processes
        self.name = name
        self.timeout = processes.timeout if timeout is None else timeout
        self.index, self.count = processes.index(), processes.count()
        with _lock:
            number = _met[name]
            _met[name] += 1
        self._key = f"graftax/{name}/{number}"
        self._before = f"graftax/{name}/{number - 1}" if number else None

    def meet(self, point: str = "all") -> None:
        """Wait until all processes are here.

        Raises:
            ProcessError: some did not come, or are dead; names them.
        """
        with self._explain_loss():
            self.processes.put(f"{self._key}/{point}/came/{self.index}", b"")
            try:
                self.processes.barrier(f"{self._key}/{point}", self.timeout)
            except TimeoutError:
                came = {int(name) for name in self.processes.list_values(f"{self._key}/{point}/came")}
                raise self._absence_error(point, sorted(set(range(self.count)) - came)) from None

    def say(self, topic: str, value: bytes) -> None:
        """Tell the others something; `said` has it after all have met."""
        with self._explain_loss():
            self.processes.put(f"{self._key}/{topic}/of/{self.index}", value)

    def said(self, topic: str) -> dict[int, bytes]:
        """Return what was said, by process."""
        with self._explain_loss():
            return {
                int(name): value
                for name, value in sorted(self.processes.list_values(f"{self._key}/{topic}/of").items())
            }

    def exchange(self, topic: str, value: bytes) -> list[bytes]:
        """Say something, wait until all have, and return what each said."""
        self.say(topic, value)
        self.meet(topic)
        found = self.said(topic)
        return [found[process] for process in range(self.count)]

    def announce(self, topic: str, value: bytes) -> None:
        """Tell the others something, as process 0."""
        with self._explain_loss():
            self.processes.put(f"{self._key}/{topic}", value)

    def heard(self, topic: str) -> bytes:
        """Wait for what process 0 announces.

        Raises:
            ProcessError: it says nothing in time, or is dead.
        """
        with self._explain_loss():
            try:
                return self.processes.get(f"{self._key}/{topic}", self.timeout)
            except TimeoutError:
                raise self._absence_error(topic, [0]) from None

    def agree(self, facts: Sequence[tuple[str, str]], instead: str) -> None:
        """Compare with the others what each is about to do, thing by thing.

        Args:
            facts: Names of things, and each as text; the same names in the same order if all is well.
            instead: What to write where they differ.

        Raises:
            ProcessError: they differ; names process and thing, and is raised by all.
        """
        marks = [(label, text if len(text) <= _SHOWN else f"({_digest(text)})") for label, text in facts]
        mine = json.dumps(marks).encode()
        told = self.exchange("compared", _digest(mine.decode()).encode())
        for process, mark in enumerate(told):
            if mark.startswith(_GIVEN_UP):
                raise ProcessError(
                    f"process {process} could not take part: {mark[len(_GIVEN_UP) :].decode()}",
                    "all processes take part, or none",
                    f"look at what process {process} says",
                )
        other = next((process for process, mark in enumerate(told) if mark != told[0]), None)
        if other is None:
            return
        if self.index in (0, other):
            self.say("details", mine)
        self.meet("details")
        said = self.said("details")
        raise _differ(self.name, other, json.loads(said[0]), json.loads(said[other]), instead)

    def give_up(self, error: BaseException) -> None:
        """Tell those who come to `agree` that this process does not, and wait for them."""
        with suppress(ProcessError):
            self.exchange("compared", _GIVEN_UP + f"{type(error).__name__}: {error}".encode()[:1000])

    def forget(self) -> None:
        """Let process 0 forget what was said at the meeting before this; call it once all have met here."""
        if self.index == 0 and self._before is not None:
            with self._explain_loss():
                self.processes.forget(self._before)

    def _absence_error(self, point: str, missing: Sequence[int]) -> ProcessError:
        who, here = ", ".join(map(str, missing)), f"{self.name} ({point}): process {self.index}"
        return ProcessError(
            f"{here} waited {self.timeout:g} s for process {who} of {self.count}"
            if missing
            else f"{here} came when others had given up waiting",
            _describe_end(self.processes)
            or "every process makes the same calls in the same order; one of them is late, or somewhere else",
            "no `if is_main():` around what all do; for what takes longer, initialize(timeout=...)",
        )

    @contextmanager
    def _explain_loss(self) -> Iterator[None]:
        try:
            yield
        except ConnectionError as error:
            raise ProcessError(
                f"process {self.index} lost the others at {self.name!r}: {str(error)[:300]}",
                why_lost(self.processes),
                AGAIN,
            ) from error


def named_error(error: BaseException) -> str:
    """Return the class of an error and the first line of its text."""
    return f"{type(error).__name__}: {error}".partition("\n")[0][:300]


def why_lost(processes: Processes) -> str:
    """Return why others cannot be reached: what has ended them, if they could say so."""
    return _describe_end(processes) or "a process is dead, was waited for in vain, or its machine cannot be reached"


def _describe_end(processes: Processes) -> str:
    with suppress(ConnectionError):
        told = sorted(processes.list_values(FAILED).items())
        return "; ".join(f"process {number} was ended by {text.decode()}" for number, text in told)
    return ""


def _differ(name: str, other: int, first: list[list[str]], second: list[list[str]], instead: str) -> ProcessError:
    """Return the error that names the first thing that two processes do not have alike."""
    one, two = map(dict, (first, second))
    for mine, process, its, its_process in ((one, 0, two, other), (two, other, one, 0)):
        extra = next((label for label in mine if label not in its), None)
        if extra is not None:
            what = f"process {process} has {extra!r}, process {its_process} has not"
            return ProcessError(f"{name}: {what}", _WHY, instead)
    label = next((label for label in one if one[label] != two[label]), "the order of things")
    what = f"{label} is {one.get(label, 'one')} in process 0, and {two.get(label, 'another')} in process {other}"
    return ProcessError(f"{name}: {what}", _WHY, instead)


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=8).hexdigest()
