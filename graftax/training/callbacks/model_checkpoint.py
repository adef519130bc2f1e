"""ModelCheckpoint: saves a run regularly, so that it can be resumed bit-exactly."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import Any

from graftax.backend.rendezvous import process_group
from graftax.checkpoint.manager import CheckpointManager
from graftax.checkpoint.preemption import Preemption
from graftax.checkpoint.retention import Retention
from graftax.core.errors import ArgumentError, CheckpointError, StateError
from graftax.core.of_constructor import OfConstructor
from graftax.training.callbacks.monitor import Monitor, Monitored
from graftax.training.hooks.callback import Callback, Logs
from graftax.training.resuming import open_manager

_FILES = (".h5", ".hdf5", ".keras", ".pt", ".pth", ".ckpt", ".safetensors", ".npz")


def _refuse_files(directory: str | os.PathLike[str]) -> None:
    """Raise for a name that other libraries give to single files, unless there is such a directory.

    Raises:
        ArgumentError: it is such a name.
    """
    if not isinstance(directory, str | os.PathLike):
        return  # which is told where a run begins
    path = os.fspath(directory)
    ends = next((suffix for suffix in _FILES if str(path).lower().endswith(suffix)), None)
    if ends is None or os.path.isdir(path):
        return
    stem = str(path)[: -len(ends)].removesuffix(".weights")
    raise ArgumentError(
        f"ModelCheckpoint({str(path)!r})",
        f"{ends} ends the name of one file, and checkpoints are directories below this one: step-100, step-200",
        f'ModelCheckpoint({stem!r}, monitor="val_loss", keep=1, keep_best=1); model.save_weights(path) after training '
        "for weights alone",
    )


class ModelCheckpoint(Callback):
    """Saves model, optimizer, metrics, seeds, history, callbacks and the place in the data to ``directory/step-100``.

    ``fit(resume=directory)`` continues from the latest checkpoint, even in the middle of an epoch, and gives the same
    numbers as an uninterrupted run. It saves after all other callbacks have run, once more when training ends (before
    the best weights are restored), and after an error. ``gx.Checkpoint(model=model).restore(path)`` restores only the
    model.

    Where training is stopped within an epoch, it saves before that epoch is validated and logged: a run that is resumed
    trains the rest of it first. After an error in a validation, or in what begins or ends an epoch, it saves everything
    as the last step left it, and a resumed run repeats that part.

    Args:
        directory: A directory for the checkpoints, or a `CheckpointManager`.
        every: ``"epoch"``, or a number of steps. Defaults to ``"epoch"``.
        monitor: The number of the logs that decides which checkpoint is best, among those of epochs that have it. If
            ``every`` is a number of steps, the end of each such epoch is saved, too. Defaults to None.
        goal: ``"min"``, ``"max"``, or ``"auto"`` to infer it from the name. Defaults to ``"auto"``.
        keep: How many of the newest checkpoints to keep. Defaults to None: all.
        keep_best: How many of the best checkpoints to keep in addition. Defaults to None.
        on_preemption: Whether to save and end training when the system asks the program to end (SIGTERM), without a
            validation of an epoch that is not over; then ``preempted`` is True. Defaults to False.
        in_background: Whether to write in a background thread. Defaults to False.
        mode: Another name for ``goal``, as in other callbacks; give only one of the two. Defaults to None.

    Raises:
        ArgumentError: ``every`` is invalid, the directory has the name of a file (``model.keras``), ``keep_best`` comes
            without ``monitor`` or ``keep``, a goal is given without a number to monitor, or settings are given together
            with a manager, which has its own.
        StateError: the directory has a checkpoint of a later step.
        DataError: the monitored number is not in the logs of the first epoch.
        SaveError: a checkpoint could not be written; earlier ones are complete.

    Example:
        >>> import numpy as np, graftax as gx
        >>> def model():
        ...     made = gx.Sequential([gx.layers.Dense(1)])
        ...     made.compile("adam", "mse")
        ...     return made
        >>> x = np.ones((8, 2), "float32")
        >>> save = ModelCheckpoint("run", every=3, keep=2)
        >>> _ = model().fit(x, x[:, :1], batch_size=2, epochs=2, verbose=0, callbacks=[save])
        >>> [record.step for record in gx.CheckpointManager("run").all()]
        [6, 8]
        >>> history = model().fit(
        ...     x, x[:, :1], batch_size=2, epochs=3, verbose=0, resume="run", callbacks=[ModelCheckpoint("run")]
        ... )
        >>> history.epoch
        [0, 1, 2]
    """

    monitor = Monitored["Monitor | None"]("ModelCheckpoint", or_none=True)
    goal = OfConstructor("graftax.callbacks.ModelCheckpoint(..., goal={value}), a new callback")
    mode = OfConstructor("graftax.callbacks.ModelCheckpoint(..., mode={value}), a new callback")

    def __init__(
        self,
        directory: str | os.PathLike[str] | CheckpointManager,
        every: int | str = "epoch",
        monitor: str | None = None,
        goal: str = "auto",
        keep: int | None = None,
        keep_best: int | None = None,
        on_preemption: bool = False,
        in_background: bool = False,
        mode: str | None = None,
    ) -> None:
        super().__init__()
        if mode is not None and goal != "auto":
            raise ArgumentError(
                f"ModelCheckpoint got goal={goal!r} and mode={mode!r}", "they are two names of one setting", "goal=..."
            )
        goal = goal if mode is None else mode
        if monitor is None and goal != "auto":
            raise ArgumentError(
                f"ModelCheckpoint got {'goal' if mode is None else 'mode'}={goal!r:.60} without monitor=",
                "it says which value of the monitored number is best, and no number is monitored",
                f'monitor="val_loss", {"goal" if mode is None else "mode"}={goal!r:.60}',
            )
        if every != "epoch" and (isinstance(every, bool) or not isinstance(every, int) or every < 1):
            raise ArgumentError(
                f"ModelCheckpoint got every={every!r}", "it is 'epoch' or a number of steps", "every=1000"
            )
        if not isinstance(directory, CheckpointManager):
            _refuse_files(directory)
            Retention(keep, keep_best, monitor).check()
        if isinstance(directory, CheckpointManager) and (keep, keep_best) != (None, None):
            raise ArgumentError(
                f"ModelCheckpoint got a manager and keep={keep}, keep_best={keep_best}",
                "the manager says what stays",
                "CheckpointManager(directory, keep=..., keep_best=..., monitor=...)",
            )
        if isinstance(directory, CheckpointManager) and monitor is None:
            monitor, goal = directory.retention.monitor, directory.retention.goal
        self.directory, self.every = directory, every
        self.monitor = (
            None
            if monitor is None
            else Monitor("ModelCheckpoint", monitor, goal, word="goal" if mode is None else "mode")
        )
        self.keep, self.keep_best = keep, keep_best
        self.on_preemption, self.in_background = on_preemption, in_background
        self.manager: CheckpointManager | None = None
        self._preemption: Preemption | None = None
        self.preempted = False
        """Whether the last training ended because the system asked for it, with work left to do."""
        self._entered = ExitStack()
        self._saved = -1

    def on_train_begin(self, logs: Logs | None = None) -> None:
        """Check the directory, and start to listen for signals."""
        run = self.params["run"]
        settings: dict[str, Any] = {"keep": self.keep, "keep_best": self.keep_best}
        if self.monitor is not None:
            settings |= {"monitor": self.monitor.name, "goal": self.monitor.mode}
        self.manager = open_manager(self.directory, run, "ModelCheckpoint", **settings)
        latest = self.manager.latest()
        if self.monitor is not None:
            self.monitor.seen = latest is not None and any(
                self.monitor.name in record.metrics for record in self.manager.all()
            )
        step = self.params["step"]
        if latest is not None and latest.step > step:
            raise StateError(
                f"{self.manager.directory} has a checkpoint of step {latest.step}, and this run is at step {step}",
                "what this run saves would not be the latest",
                f'fit(..., resume="{self.manager.directory}") to go on with it, or another directory',
            )
        self._saved = -1 if latest is None else latest.step
        self.preempted = False
        if self.on_preemption:
            self._preemption = self._entered.enter_context(self.manager.on_preemption())

    def on_train_batch_end(self, batch: int, logs: Logs | None = None) -> None:
        """End training if a signal asks for it."""
        if self._preemption is not None and self._preemption.comes_at(self.params["step"]):
            self.model.stop_training = self.preempted = True

    def on_train_batch_begin(self, batch: int, logs: Logs | None = None) -> None:
        """Save the state after the previous step, if due; the last one of an epoch is saved with its logs."""
        if self.saves_within_epoch():
            self._save({}, competes=False)

    def saves_within_epoch(self) -> bool:
        """Tell whether the state after the last step is due, although its epoch goes on."""
        return isinstance(self.every, int) and self.params["step"] // self.every > max(self._saved, 0) // self.every

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        """Save, if due, with the monitored number."""
        value = None if self.monitor is None else self.monitor.read(logs, self.params)
        if not isinstance(self.every, int) or self.saves_within_epoch() or value is not None:
            numbers = {name: float(number) for name, number in (logs or {}).items()}
            self._save(numbers, competes=value is not None)

    def save_within_epoch(self) -> None:
        """Save the state after the last step of an epoch that ends before its data do, as `fit` does if stopped.

        A run that is resumed from there goes on in the middle of that epoch.
        """
        self._save({}, competes=False)

    def on_train_end(self, logs: Logs | None = None) -> None:
        """Save the final state."""
        self._save({}, competes=False)
        if self.manager is not None:
            self.manager.wait()
        self._entered.close()

    def on_exception(self, error: BaseException) -> None:
        """Save the state after the last step, unless saving itself has failed, or other processes still run.

        Before the first step, nothing is saved: a resumed run then begins from the start, and makes its own weights.
        Nor is anything within a step that the loop of a session has not ended, see `Session.end_step`.
        """
        self._entered.close()
        if self.manager is not None and not isinstance(error, CheckpointError) and process_group() is None:
            run = self.params["run"]
            run.settle()
            if not run.is_within_step():
                with run.between_steps():
                    self._save({}, competes=False)
            self.manager.wait()

    def _save(self, numbers: dict[str, float], competes: bool) -> None:
        step = self.params["step"]
        if self.manager is None or step <= self._saved or step == 0:
            return
        self.manager.hold(**self.params["run"].roots())
        competes = competes or self.manager.retention.monitor is None
        self.manager.save(step, metrics=numbers, async_=self.in_background, competes=competes)
        self._saved = step
