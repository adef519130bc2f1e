"""RunState: the progress of a loop, and all of its state that belongs to none of the objects that it trains."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

from graftax.backend.rendezvous import Rendezvous, process_group
from graftax.checkpoint import values
from graftax.core.undefined import undefined_error
from graftax.training.hooks.callback import Callback
from graftax.training.hooks.callback_list import CallbackList
from graftax.training.hooks.missing_callback import tell_missing
from graftax.training.hooks.own_attributes import OwnAttributes, adds_attributes, warn_before_saving
from graftax.training.hooks.plain_attributes import PlainAttributes, defines_get_state
from graftax.training.position import Position
from graftax.training.program_at_start import ProgramAtStart
from graftax.training.retreat import Retreat, variables_of
from graftax.variables.graph.module import Module
from graftax.variables.variable import Variable

_PLAIN = "plain attributes"
"""Marks the state of a callback that does not say itself what it remembers."""


class RunState(Module):
    """The progress of training: epoch, finished steps of it, all steps; with the seeds and the states of callbacks.

    Args:
        callbacks: The callbacks that may have a state.
        params: The ``params`` of the callbacks, which have the number of steps.
    """

    untracked: ClassVar[frozenset[str]] = frozenset(
        {"callbacks", "params", "is_saved", "program"}
        | {"_at", "_is_whole", "_running", "_waiting", "_plain", "_steps_end"}
    )

    callbacks: list[Callback]
    params: dict[str, Any]

    def __init__(self, callbacks: Sequence[Callback], params: dict[str, Any]) -> None:
        super().__init__()
        object.__setattr__(self, "callbacks", list(callbacks))
        object.__setattr__(self, "params", params)
        self._at = Position(step=params["step"])
        # of the compiled step that runs: the place of its mark, the mark before, how many steps it takes
        self._running: tuple[deque[object], object, int] | None = None
        self.is_saved = False  # whether a callback may save it at any time
        self._steps_end = False  # whether a loop says where its steps end
        self.program = ProgramAtStart(self.roots, self._trained, self._with_settings)
        self._is_whole = False  # whether a step was taken
        self._waiting: list[list[Any]] | None = None  # the states of callbacks in a run that is resumed
        # for callbacks without a get_state of their own, by callback
        self._plain: dict[int, PlainAttributes | OwnAttributes] = {}

    @property
    def epoch(self) -> int:
        """Return the number of the epoch, counted from 0."""
        return self._at.epoch

    @property
    def index(self) -> int:
        """Return the number of finished steps of the epoch."""
        return self._at.done

    @property
    def logs(self) -> Mapping[str, Any]:
        """Return what the last step of the epoch gave; empty before."""
        return self._at.logs or {}

    def roots(self) -> dict[str, Any]:
        """Return the roots of a checkpoint of the run."""
        raise undefined_error(self, "roots()")

    def begin_at(self, epoch: int) -> None:
        """Begin with an epoch other than the first one."""
        self._at = self._at._replace(epoch=epoch)

    def _saved_variables(self) -> list[Variable]:
        """Return the Variables of all roots."""
        return [v for root in self.roots().values() for v in variables_of(root)]

    def _trained(self) -> dict[str, Any]:
        """Return the roots but for the run itself."""
        return {name: root for name, root in self.roots().items() if root is not self}

    def _with_settings(self) -> dict[str, Any]:
        """Return the Modules whose settings callbacks may change."""
        return self._trained()

    def note_program(self) -> None:
        """Note what the program gives, before callbacks or a checkpoint change it."""
        self.program.note()

    def _make_retreat(self) -> Retreat:
        return Retreat(self.roots(), self._callback_states(), self.program.settings.changed_values())

    def begin_epoch(self, hooks: CallbackList) -> None:
        """Call `on_epoch_begin` of the callbacks.

        If the epoch had begun before the run was saved, the hooks are called again, since their setup ended with the
        process. But their changes of Variables and of their states were saved, so these values are restored afterwards.

        Args:
            hooks: The callbacks.
        """
        resumes, mark = self._at.has_begun, self._at.retreat if self._at.is_between else None
        may_fail = self.is_saved and hooks.has_hook("on_epoch_begin") and mark is None
        retreat = self._make_retreat() if may_fail or resumes else None
        self._at = self._at._replace(retreat=mark or retreat)
        if retreat is None or not resumes:
            hooks.run("on_epoch_begin", self.epoch)
            self._at = self._at._replace(has_begun=True, retreat=mark)
            return
        self.params["resumes_epoch"] = True
        try:
            hooks.run("on_epoch_begin", self.epoch)
        finally:
            self.params["resumes_epoch"] = False
        retreat.go_back()
        self.program.settings.go_back(retreat.settings)
        self._give(retreat.states or [], tells=False)  # that was done when the run began
        self._at = self._at._replace(retreat=None)

    def begin_step(self, commits: deque[object] | None, steps: int) -> None:
        """Note what runs now, so that an exception finds out what was done, wherever it comes.

        A compiled step puts all its results in place at once, and marks that with the same stroke. What an eager one
        has assigned so far is undone in a checkpoint.

        Args:
            commits: The marks of a compiled step; None for an eager one.
            steps: How many steps it takes.
        """
        before = self._at.retreat if self._at.is_between else None
        if commits is not None:
            object.__setattr__(self, "_running", (commits, _last_commit(commits), steps))
            if before is not None:
                before.forget_unchanged()
            return
        object.__setattr__(self, "_running", None)
        if self.is_saved and self._at.step and process_group() is None:
            self._at = self._at._replace(retreat=before or Retreat(self.roots(), None))

    def forget(self) -> None:
        """Hold no earlier values any longer."""
        if self._at.retreat is not None:
            self._at.retreat.release()
        self._at = self._at._replace(retreat=None, is_between=False)

    def end_step(self) -> None:
        """Keep what the last step left: a checkpoint of it has nothing of what the loop does for the next one."""
        self._steps_end = True
        if self.is_saved:
            self._at = self._at._replace(retreat=Retreat(self.roots(), None), is_between=True)

    def is_within_step(self) -> bool:
        """Tell whether a step is counted that the loop has not ended: a resumed run would not do the rest of it."""
        return self._steps_end and self._at.retreat is None

    def advance(self, steps: int, logs: Mapping[str, Any]) -> None:
        """Count finished steps. It runs at each batch, so it avoids the cost of a normal assignment to an attribute.

        Args:
            steps: How many.
            logs: What the last of them gave, which is what the epoch gives, if no other follows.
        """
        commit = None if self._running is None else _last_commit(self._running[0])
        if self._at.retreat is not None:
            self._at.retreat.release()
        object.__setattr__(self, "_at", self._at.advance(steps, logs, commit))
        self.params["step"] = self._at.step
        if not self._is_whole:  # the first step has built all layers
            self._is_whole = True
            self.program.note_built()

    def settle(self) -> None:
        """Count a step whose results are in place, but which an exception kept from being counted."""
        if self._running is not None:
            commits, before, steps = self._running
            if _last_commit(commits) not in (before, self._at.commit):
                self.advance(steps, {})
        self.params["step"] = self._at.step

    def begin_end_of_epoch(self) -> None:
        """Keep what the last step left: if something fails from now on, a resumed run repeats the end of the epoch."""
        retreat = self._make_retreat() if self.is_saved else None
        self._at = self._at._replace(retreat=retreat, is_between=False, validation=self._position_of_validation())

    def _position_of_validation(self) -> dict[str, Any] | None:
        return None

    @contextmanager
    def between_steps(self, ended: bool = False) -> Iterator[None]:
        """Let everything be as it was before the present beginning or end of an epoch, which a resumed run repeats.

        Args:
            ended: Whether to do so only for what a loop did since `end_step`. Defaults to False.
        """
        retreat = self._at.retreat
        if retreat is None or (ended and not self._at.is_between):
            yield
            return
        now = Retreat(self.roots(), None)
        retreat.go_back()
        try:
            yield
        finally:
            now.go_back()

    def end_epoch(self) -> None:
        """Advance to the next epoch."""
        self._at = Position(self.epoch + 1, step=self._at.step, commit=self._at.commit)

    def begin_training(self, *lists: CallbackList) -> None:
        """Call `on_train_begin` of the callbacks.

        In a run that is resumed, they get their states before, since the hook may depend on them, and again
        afterwards, since it may reset them.

        Args:
            lists: The callbacks.

        Raises:
            StateError: a callback with a saved state does not exist any more.
        """
        if self._waiting is None:
            self.note_program()
        else:
            self._note_attributes()
            self._give(self._waiting, tells=False)
        for hooks in lists:
            hooks.run("on_train_begin")
        self._note_attributes()
        self._give(self._waiting or [], tells=True)
        self._waiting = None

    def _note_attributes(self) -> None:
        self._plain = {
            id(one): PlainAttributes(one, saved=self._saved_variables)
            for one in self.callbacks
            if not defines_get_state(one)
        }
        self._plain |= {
            id(one): OwnAttributes(one, self._saved_variables) for one in self.callbacks if adds_attributes(one)
        }

    def _give(self, states: list[list[Any]], tells: bool) -> None:
        there = self._stateful_callbacks()
        for name, state, *marks in states:
            which = next((mark for mark in marks if isinstance(mark, int)), None)  # not told by earlier versions
            place = next((i for i, (kind, at, _) in enumerate(there) if kind == name and which in (None, at)), None)
            if place is not None:
                teller = there.pop(place)[2]
                if isinstance(teller, PlainAttributes | OwnAttributes):
                    teller.set_state(state, tells)
                else:
                    teller.set_state(state)
            elif tells:
                tell_missing(name, state, is_plain=_PLAIN in marks)

    def get_state(self) -> dict[str, Any]:
        """Return the progress, the seeds and the states of callbacks."""
        retreat = self._at.retreat
        states, settings = (None, None) if retreat is None else (retreat.states, retreat.settings)
        states = self._callback_states() if states is None else states
        warn_before_saving(self._stateful_callbacks(), states)
        return {
            "epoch": self.epoch,
            "index": self.index,
            # what `on_epoch_begin` has changed is saved with the first step
            "has_begun": self._at.has_begun and not (self._at.is_between and self._at.done == 0),
            "steps_end": self._steps_end,
            "step": self._at.step,
            "logs": {name: float(value) for name, value in self.logs.items()},
            "callbacks": states,
            **self.program.get_state(),
            **({} if settings is None else {"settings": settings}),
        }

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restore a result of `get_state`."""
        index = state["index"]
        begun = state.get("has_begun", index > 0)
        self._at = Position(state["epoch"], index, state["step"], begun, state.get("logs", {}))
        self.params["step"] = self._at.step
        self._steps_end = bool(state.get("steps_end", False))
        self._waiting = [list(one) for one in state["callbacks"]]
        self.program.set_state(state)

    def _stateful_callbacks(self) -> list[tuple[str, int, Any]]:
        """Return the callbacks that have a state: the class, which one of that class, and what tells the state."""
        found: list[tuple[str, int, Any]] = []
        for callback in self.callbacks:
            tells, name = self._plain.get(id(callback), callback), type(callback).__name__
            if hasattr(tells, "set_state"):
                found.append((name, sum(kind == name for kind, _, _ in found), tells))
        return found

    def _callback_states(self) -> list[list[Any]]:
        found = []
        for name, which, tells in self._stateful_callbacks():
            callback = tells.callback if isinstance(tells, PlainAttributes | OwnAttributes) else tells
            state = _of_main(tells) if getattr(callback, "main_only", False) else tells.get_state()
            if state is not None:
                found.append([name, state, which, *([_PLAIN] if isinstance(tells, PlainAttributes) else ())])
        return found


def _last_commit(commits: deque[object]) -> object:
    return commits[-1] if commits else None


def _of_main(callback: Any) -> Any:
    """Return, in all processes, the state of a callback that only process 0 runs."""
    processes = process_group()
    if processes is None:
        return callback.get_state()
    name = type(callback).__name__
    meeting = Rendezvous(processes, f"the state of {name}")
    if meeting.index == 0:
        meeting.announce("state", values.pack(values.encode(callback.get_state(), name)))
    return values.unpack(meeting.heard("state"))
