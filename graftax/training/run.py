"""Run: the progress of training, and all of its state that belongs neither to the model nor to the optimizer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

from graftax.backend.rendezvous import Rendezvous, several
from graftax.checkpoint import values
from graftax.core import user_line
from graftax.core.errors import StateError
from graftax.core.undefined import undefined_error
from graftax.metrics.metric import Metric
from graftax.training.hooks.callback import Callback
from graftax.training.hooks.callback_list import CallbackList
from graftax.training.hooks.own_attributes import OwnAttributes, adds_attributes
from graftax.training.hooks.plain_attributes import PlainAttributes, defines_get_state
from graftax.training.objectives import required_objectives
from graftax.training.resumed_metrics import ROOT
from graftax.training.retreat import Retreat, variables_of
from graftax.training.sources.iterable_source import go_to, position_of
from graftax.training.sources.source import Source
from graftax.training.trainable_model import TrainableModel
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
        {"callbacks", "params", "epoch", "index", "has_begun", "is_saved", "logs", "_retreat", "_waiting", "_plain"}
    )

    callbacks: list[Callback]
    params: dict[str, Any]

    def __init__(self, callbacks: Sequence[Callback], params: dict[str, Any]) -> None:
        super().__init__()
        object.__setattr__(self, "callbacks", list(callbacks))
        object.__setattr__(self, "params", params)
        self.epoch = 0
        self.index = 0
        self.logs: Mapping[str, Any] = {}
        self.is_saved = False  # whether a callback may save it at any time
        self.has_begun = False  # whether `on_epoch_begin` of the callbacks was called
        self._retreat: Retreat | None = None  # while an epoch begins or ends
        self._waiting: list[list[Any]] = []
        # for callbacks without a get_state of their own, by callback
        self._plain: dict[int, PlainAttributes | OwnAttributes] = {}

    def roots(self) -> dict[str, Any]:
        """Return the roots of a checkpoint of the run."""
        raise undefined_error(self, "roots()")

    def _saved(self) -> list[Variable]:
        """Return the Variables of all roots."""
        return [v for root in self.roots().values() for v in variables_of(root)]

    def begin_epoch(self, hooks: CallbackList) -> None:
        """Call `on_epoch_begin` of the callbacks.

        If the epoch had begun before the run was saved, the hooks are called again, since their setup ended with the
        process. But their changes of Variables and of their states were saved, so these values are restored afterwards.

        Args:
            hooks: The callbacks.
        """
        resumes = self.has_begun
        may_fail = self.is_saved and hooks.defines("on_epoch_begin")
        self._retreat = Retreat(self.roots(), self._remembered()) if may_fail or resumes else None
        if self._retreat is None or not resumes:
            hooks.run("on_epoch_begin", self.epoch)
            self.has_begun, self._retreat = True, None
            return
        self.params["resumes_epoch"] = True
        try:
            hooks.run("on_epoch_begin", self.epoch)
        finally:
            self.params["resumes_epoch"] = False
        self._retreat.go_back()
        states = self._retreat.states
        for _, state, *marks in states:
            if _PLAIN in marks:
                state["lost"] = {}  # told when the run began
        self._give(states)
        self._retreat = None

    def advance(self, steps: int, logs: Mapping[str, Any]) -> None:
        """Count finished steps. It runs at each batch, so it avoids the cost of a normal assignment to an attribute.

        Args:
            steps: How many.
            logs: What the last of them gave, which is what the epoch gives, if no other follows.
        """
        object.__setattr__(self, "index", self.index + steps)
        object.__setattr__(self, "logs", logs)
        self.params["step"] += steps

    def begin_end_of_epoch(self) -> None:
        """Keep what the last step left: if something fails from now on, a resumed run repeats the end of the epoch."""
        self._retreat = Retreat(self.roots(), self._remembered()) if self.is_saved else None

    @contextmanager
    def between_steps(self) -> Iterator[None]:
        """Let everything be as it was before the present beginning or end of an epoch, which a resumed run repeats."""
        if self._retreat is None:
            yield
            return
        now = Retreat(self.roots(), [])
        self._retreat.go_back()
        try:
            yield
        finally:
            now.go_back()

    def end_epoch(self) -> None:
        """Advance to the next epoch."""
        self.epoch, self.index, self.has_begun, self._retreat = self.epoch + 1, 0, False, None
        self.logs = {}

    def give_states(self) -> None:
        """Restore the states of callbacks, after their `on_train_begin`.

        Raises:
            StateError: a callback with a saved state does not exist any more.
        """
        self._plain = {
            id(one): PlainAttributes(one, saved=self._saved) for one in self.callbacks if not defines_get_state(one)
        }
        self._plain |= {id(one): OwnAttributes(one, self._saved) for one in self.callbacks if adds_attributes(one)}
        self._give(self._waiting)
        self._waiting = []

    def _give(self, states: list[list[Any]]) -> None:
        there = self._telling()
        for name, state, *marks in states:
            which = next((mark for mark in marks if isinstance(mark, int)), None)  # not told by earlier versions
            place = next((i for i, (kind, at, _) in enumerate(there) if kind == name and which in (None, at)), None)
            if place is None and _PLAIN in marks:
                user_line.warn(
                    f"the run that is resumed had a callback {name}, which is not among the callbacks now: what it "
                    f"remembered is left out: {', '.join([*state['attributes'], *state['lost']])}. "
                    f"Instead: callbacks=[..., {name}(...)], if it is to go on"
                )
                continue
            if place is None:
                raise StateError(
                    f"the run that is resumed had a callback {name}, which remembered something",
                    "it is not among the callbacks now, so its state would be lost",
                    f"callbacks=[..., {name}(...)]; or restore model and optimizer alone, and begin another run: "
                    "graftax.Checkpoint(model=model, optimizer=model.optimizer).restore(path)",
                )
            there.pop(place)[2].set_state(state)

    def get_state(self) -> dict[str, Any]:
        """Return the progress, the seeds and the states of callbacks."""
        return {
            "epoch": self.epoch,
            "index": self.index,
            "has_begun": self.has_begun,
            "step": self.params["step"],
            "logs": {name: float(value) for name, value in self.logs.items()},
            "callbacks": self._remembered() if self._retreat is None else self._retreat.states,
        }

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restore a result of `get_state`."""
        self.epoch, self.index, self.params["step"] = state["epoch"], state["index"], state["step"]
        self.has_begun = state.get("has_begun", self.index > 0)
        self.logs = state.get("logs", {})
        self._waiting = [list(one) for one in state["callbacks"]]

    def _telling(self) -> list[tuple[str, int, Any]]:
        """Return the callbacks that have a state: the class, which one of that class, and what tells the state."""
        found: list[tuple[str, int, Any]] = []
        for callback in self.callbacks:
            tells, name = self._plain.get(id(callback), callback), type(callback).__name__
            if hasattr(tells, "set_state"):
                found.append((name, sum(kind == name for kind, _, _ in found), tells))
        return found

    def _remembered(self) -> list[list[Any]]:
        found = []
        for name, which, tells in self._telling():
            callback = tells.callback if isinstance(tells, PlainAttributes | OwnAttributes) else tells
            state = _of_main(tells) if getattr(callback, "main_only", False) else tells.get_state()
            if state is not None:
                found.append([name, state, which, *([_PLAIN] if isinstance(tells, PlainAttributes) else ())])
        return found


def _of_main(callback: Any) -> Any:
    """Return, in all processes, the state of a callback that only process 0 runs."""
    processes = several()
    if processes is None:
        return callback.get_state()
    name = type(callback).__name__
    meeting = Rendezvous(processes, f"the state of {name}")
    if meeting.index == 0:
        meeting.announce("state", values.pack(values.encode(callback.get_state(), name)))
    return values.unpack(meeting.heard("state"))


class Run(RunState):
    """The progress of ``fit``, including the position in the data, and in those of the validation.

    It is a root of a checkpoint, like the model and the optimizer. Together they contain everything that an exact
    resume needs.

    Args:
        model: The model.
        source: The source of the batches.
        validation: The source of the batches of the validation, or None.
        callbacks: The callbacks that may have a state.
        params: The ``params`` of the callbacks, which have the number of steps.
    """

    untracked: ClassVar[frozenset[str]] = RunState.untracked | {
        "model",
        "source",
        "validation",
        "_metrics",
        "_before_validation",
    }

    model: TrainableModel
    source: Source
    validation: Source | None

    def __init__(
        self,
        model: TrainableModel,
        source: Source,
        validation: Source | None,
        callbacks: Sequence[Callback],
        params: dict[str, Any],
    ) -> None:
        super().__init__(callbacks, params)
        object.__setattr__(self, "model", model)
        object.__setattr__(self, "source", source)
        object.__setattr__(self, "validation", validation)
        self._metrics: dict[str, Metric] = {}
        self._before_validation: dict[str, Any] | None = None  # its position, until the epoch is over

    def roots(self) -> dict[str, Any]:
        """Return the roots of a checkpoint of the run: model, optimizer, metrics and the run itself."""
        objectives = required_objectives(self.model)
        found: dict[str, Any] = {"model": self.model}
        if isinstance(objectives.optimizer, Module):
            found["optimizer"] = objectives.optimizer
        metrics = objectives.metrics_by_name
        if self._metrics.keys() != metrics.keys() or any(self._metrics[name] is not metrics[name] for name in metrics):
            # a new dict only for new metrics, since managers compare roots by identity
            self._metrics = metrics
        return {**found, ROOT: self._metrics, "run": self}

    def begin_end_of_epoch(self) -> None:
        """Keep what there is after the last step, and where the data of the validation are."""
        super().begin_end_of_epoch()
        self._before_validation = self._position_of_validation()

    def end_epoch(self) -> None:
        """Advance to the next epoch."""
        super().end_epoch()
        self._before_validation = None

    def _position_of_validation(self) -> dict[str, Any] | None:
        return position_of(self.validation, beside=self.source) if self.validation is not None else None

    def get_state(self) -> dict[str, Any]:
        """Return the state, with the position in the data."""
        source = {"kind": type(self.source).__name__, "state": self.source.get_state(self.index)}
        validation = self._before_validation or self._position_of_validation()
        return {**super().get_state(), "source": source, "validation": validation}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restore a result of `get_state`.

        Raises:
            StateError: the data have another kind of source now.
            DataError: the data are different, or cannot be continued.
        """
        kind = type(self.source).__name__
        if state["source"]["kind"] != kind:
            raise StateError(
                f"a run over a source of the kind {state['source']['kind']}, resumed with one of the kind {kind}",
                "which batches come next is known for the same data only",
                "the data in the form that they had",
            )
        self.source.set_state(state["source"]["state"])
        if (place := state.get("validation")) is not None and self.validation is not None:
            go_to(self.validation, place)
        super().set_state(state)
