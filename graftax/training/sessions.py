"""Sessions: callbacks, checkpoints and recovery for your own training loops."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, ClassVar

from graftax.checkpoint.manager import CheckpointManager
from graftax.core import user_line
from graftax.core.errors import ArgumentError
from graftax.core.short_traceback import door
from graftax.core.user_functions import check_takes
from graftax.optimizers.optimizer import Optimizer
from graftax.training.callbacks.learning_rate import rates_of
from graftax.training.callbacks.model_checkpoint import ModelCheckpoint
from graftax.training.hooks.callback import Callback, Logs
from graftax.training.hooks.callback_list import CallbackList, as_list
from graftax.training.hooks.history import History
from graftax.training.nodes_of_roots import paths_of
from graftax.training.resuming import open_manager, warn_of_settings
from graftax.training.retreat import Retreat, variables_of
from graftax.training.run_state import RunState
from graftax.transforms.compile.compiled_function import CompiledFunction
from graftax.variables.variable import Variable


class Session:
    """The result of `session`: the loop reports its steps and epochs to it, and asks it whether to stop.

    For callbacks it is ``self.model``: it has the attributes of the root ``model``, and ``stop_training``.

    Example:
        >>> import graftax as gx
        >>> w = gx.Variable([4.0])
        >>> with gx.training.session([gx.callbacks.StopAtStep(3)], w=w) as run:
        ...     while not run.should_stop:
        ...         _ = run.step(lambda: w.assign(w / 2))
        >>> w.numpy().tolist(), run.steps
        ([0.5], 3)
    """

    def __init__(self, callbacks: Sequence[Callback], params: dict[str, Any], roots: Mapping[str, Any]) -> None:
        self.stop_training = False
        self.history = History()
        self._given = dict(roots)
        self.params = params
        self.optimizer_root = next((root for root in roots.values() if isinstance(root, Optimizer)), None)

        def attach(callback: Callback) -> None:
            shown: Any = self  # callbacks assign this to their model
            callback.set_model(shown)

        self._checkpoints = [c for c in callbacks if isinstance(c, ModelCheckpoint)]
        self._savers = CallbackList(self._checkpoints, attach, params)
        others = [*(c for c in callbacks if not isinstance(c, ModelCheckpoint)), self.history]
        self._hooks = CallbackList(others, attach, params)
        self._state = SessionState([*callbacks, self.history], params, self._given)
        self._state.is_saved = bool(self._savers.callbacks)
        params["run"] = self._state
        self._epoch_is_open = False
        self._ends_steps = False  # whether the loop says where a step of it ends
        self._has_warned = False
        self._before: Retreat | None = None  # what the last step left, if its checkpoint is due

    def __getattr__(self, name: str) -> Any:
        model = self.__dict__.get("_given", {}).get("model")
        if model is None or name.startswith("__"):
            raise AttributeError(f"'Session' object has no attribute {name!r}", name=name, obj=self)
        return getattr(model, name)

    @property
    def should_stop(self) -> bool:
        """Return whether a callback has asked to stop training."""
        return self.stop_training

    @property
    def steps(self) -> int:
        """Return the number of steps so far, including those of earlier runs."""
        return int(self.params["step"])

    @property
    def epoch(self) -> int:
        """Return the number of the epoch, counted from 0."""
        return self._state.epoch

    @property
    def variables(self) -> list[Variable]:
        """Return the Variables of all roots."""
        found = [v for root in self._given.values() for v in variables_of(root)]
        return list({id(v): v for v in found}.values())

    @property
    def trainable_variables(self) -> list[Variable]:
        """Return the trainable Variables of all roots."""
        return [v for v in self.variables if v.trainable]

    def request_stop(self) -> None:
        """Ask the loop to stop after this step."""
        self.stop_training = True

    @door
    def step(self, function: Callable[..., Any], *args: Any) -> Any:
        """Run a step: call the callbacks, the function, and the callbacks again; return the result of the function.

        If the function raises, `ModelCheckpoint` saves what there was before the step. For that, the values from before
        a plain Python function stay in memory while it runs, if the session has a `ModelCheckpoint`; a compiled
        function, given as it is, assigns all its results at once and needs no second copy.

        Args:
            function: One step. Callbacks get its result, if it is a dict of numbers, or a single number, the loss.
            args: The arguments of the function.
        """
        check_takes("step", "function", function, ["argument"] * len(args), "session.step(train, x, y): as train(x, y)")
        if not self._epoch_is_open:
            self._state.begin_epoch(self._hooks)
            self._epoch_is_open = True
        index = self._state.index
        self._warn_of_changes()
        with self._state.between_steps(ended=True) if self._is_due() else nullcontext():
            self._savers.run("on_train_batch_begin", index)
        self._hooks.run("on_train_batch_begin", index)
        self._state.begin_step(function.commits if isinstance(function, CompiledFunction) else None, 1)
        found = function(*args)
        self._state.advance(1, {})
        logs = _logs_of(found)
        self._hooks.run("on_train_batch_end", index, logs=logs)
        self._savers.run("on_train_batch_end", index, logs=logs)
        if not self._ends_steps and not self._has_warned and self._is_due():
            self._before = Retreat(self._given, None)
        return found

    @door
    def end_step(self) -> None:
        """Say that what follows belongs to the next step: the last line of the body of a loop.

        A checkpoint of this step then has what there is now, and a resumed run begins with what the loop does before
        `step`, such as taking a batch from a loader that is a root. Until the next step, the values are kept in memory.
        An error between `step` and this call saves nothing.
        """
        self._ends_steps = True
        self._before = None
        self._state.end_step()

    def _is_due(self) -> bool:
        return any(checkpoint.saves_within_epoch() for checkpoint in self._checkpoints)

    def _warn_of_changes(self) -> None:
        before, self._before = self._before, None
        if before is None or not (changed := before.changed(paths_of(self._given))):
            return
        user_line.warn(
            f"{', '.join(changed[:5])} changed between step {self.steps} and the next one, and the checkpoint of step "
            f"{self.steps} has this: a resumed run would do again what the loop does before step(). Instead: "
            "run.end_step() as the last line of the body of the loop, which says that what follows belongs to the next "
            "step; or do it in the function that step() gets"
        )
        self._has_warned = True

    @door
    def end_epoch(self, logs: Mapping[str, Any] | None = None) -> None:
        """Call `on_epoch_end` of the callbacks: the last line of an epoch.

        A checkpoint of this epoch has what there is now. What the loop changes behind this call, such as metrics that
        it resets, is not in it: do that before, or at the beginning of the next epoch, where a resumed run does it.

        Args:
            logs: The numbers of the epoch, by name; those of a validation begin with ``val_``. Defaults to none.
        """
        numbers = dict(logs or {})
        for name, rate in rates_of(self).items():
            numbers.setdefault(name, rate)
        shown = Logs(numbers)
        epoch = self._state.epoch
        self._state.begin_end_of_epoch()
        self._hooks.run("on_epoch_end", epoch, logs=shown)
        self._state.end_epoch()
        self._epoch_is_open = False
        self._before = None
        self._savers.run("on_epoch_end", epoch, logs=shown)
        if self._ends_steps:
            self._state.end_step()

    def _gx_begin(self) -> None:
        self._state.begin_training(self._hooks, self._savers)

    def _gx_end(self) -> None:
        with self._state.between_steps(ended=True):
            self._savers.run("on_train_end")
        self._forget()
        self._hooks.run("on_train_end")

    def _gx_failed(self, error: BaseException) -> None:
        self._hooks.on_exception(error)
        self._savers.on_exception(error)
        self._forget()

    def _forget(self) -> None:
        self._before = None
        self._state.forget()


class SessionState(RunState):
    """The progress of a session, with the seeds and the states of callbacks."""

    untracked: ClassVar[frozenset[str]] = RunState.untracked | {"given"}

    def __init__(self, callbacks: Sequence[Callback], params: dict[str, Any], roots: Mapping[str, Any]) -> None:
        super().__init__(callbacks, params)
        object.__setattr__(self, "given", dict(roots))

    def roots(self) -> dict[str, Any]:
        """Return the roots of a checkpoint of the session."""
        return {**self.__dict__["given"], "run": self}


@door
@contextmanager
def session(
    callbacks: Sequence[Callback] | None = None,
    *,
    resume: str | os.PathLike[str] | CheckpointManager | None = None,
    validates: bool = True,
    **roots: Any,
) -> Iterator[Session]:
    """Run your own training loop with the callbacks, checkpoints and recovery of fit.

    The loop runs its steps by ``run.step(function, ...)`` and ends epochs by ``run.end_epoch(logs)``. At the end of the
    block, `on_train_end` of the callbacks is called; after an exception, `on_exception`. If a run is resumed before
    layers are built, their saved values wait for them.

    Args:
        callbacks: Callbacks, which run in this order, but `ModelCheckpoint` after the others. Defaults to None.
        resume: A directory or a `CheckpointManager` to continue from; ``run.steps`` and ``run.epoch`` are then its
            progress. Defaults to None.
        validates: Whether logs will have numbers of a validation, which callbacks may need. Defaults to True.
        roots: The objects to train and save: ``model=``, ``optimizer=``, any Modules and Variables.

    Raises:
        ArgumentError: a root is called ``run``, which is reserved for the session.
        MatchError: the checkpoint is from another program.

    Example:
        >>> import numpy as np, graftax as gx
        >>> layer, optimizer = gx.layers.Dense(1), gx.optimizers.SGD(0.1)
        >>> x = np.ones((4, 2), "float32")
        >>> @gx.jit
        ... def train(x):
        ...     return optimizer.minimize(lambda: gx.ops.mean(layer(x) ** 2), layer.trainable_variables)
        >>> _ = layer(x)
        >>> stop = gx.callbacks.EarlyStopping("loss", patience=2)
        >>> with session([stop], model=layer, optimizer=optimizer) as run:
        ...     while not run.should_stop and run.epoch < 3:
        ...         loss = run.step(train, x)
        ...         run.end_epoch({"loss": loss})
        >>> run.steps, len(run.history.history["loss"])
        (3, 3)
    """
    if "run" in roots:
        raise ArgumentError(
            "session(run=...)",
            "that root is where the session keeps its own state",
            "session(state=...), or any other name",
        )
    params: dict[str, Any] = {
        "verbose": 0, "epochs": None, "steps": None, "step": 0, "training": True, "validating": False,
        "validates": validates,
    }  # fmt: skip
    run = Session(as_list(callbacks), params, roots)
    if resume is not None:
        manager = open_manager(resume, run._state, "resume=")
        if manager.latest() is not None:
            run._state.note_program()
            report = manager.restore_latest(settings="program", trainable="saved")
            run._state.program.choose(report)
            warn_of_settings(report, manager.checkpoint.roots)
    with _reporting_failure(run):
        run._gx_begin()
        yield run
        run._gx_end()


@contextmanager
def _reporting_failure(run: Session) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        run._gx_failed(error)
        raise


def _logs_of(result: object) -> dict[str, Any]:
    """Return the result of a step as numbers by name."""
    if isinstance(result, Mapping):
        return {name: value for name, value in result.items() if _is_number(value)}
    return {"loss": result} if _is_number(result) else {}


def _is_number(value: object) -> bool:
    return tuple(getattr(value, "shape", ())) == () and hasattr(value, "__float__")
