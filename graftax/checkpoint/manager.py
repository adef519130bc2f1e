"""The class CheckpointManager: the checkpoints of a run in one folder, and which of them are kept."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from signal import SIGTERM
from typing import Any

from graftax.checkpoint.awaited import Awaited
from graftax.checkpoint.background import Background
from graftax.checkpoint.checkpoint import Checkpoint
from graftax.checkpoint.delete import delete
from graftax.checkpoint.first_process import barriers_around, is_first, result_of_first_process
from graftax.checkpoint.folder_index import Summary, summary
from graftax.checkpoint.graph import Root
from graftax.checkpoint.names import STAGING
from graftax.checkpoint.places import place_of
from graftax.checkpoint.preemption import Preemption
from graftax.checkpoint.report import RestoreReport
from graftax.checkpoint.retention import Record, Retention, check_roots
from graftax.checkpoint.save import Preparation, SaveReport, write
from graftax.checkpoint.subset import Subset
from graftax.core import user_line
from graftax.core.errors import ArgumentError, CheckpointError, StateError
from graftax.core.selectors import SelectorLike
from graftax.core.short_traceback import door
from graftax.core.user_functions import check_takes

_NAME = re.compile(r"step-(0|[1-9][0-9]{0,18})", re.ASCII)

_LATEST = "which checkpoint is the latest"


class CheckpointManager(Awaited):
    """The checkpoints of a run: ``directory/step-100``, ``directory/step-200`` and so on.

    The folder itself is the only list of checkpoints, so it can be moved, copied, or cleared by hand. Files that killed
    processes have left are deleted when the manager is created. A checkpoint is deleted only after a newer one is
    durable, and never if another one refers to it. With several processes, each creates a manager and makes the same
    calls; process 0 deletes.
    A ``with`` block waits at its end for an asynchronous save, and raises if it failed.

    Args:
        directory: The folder, or a URL; created at the first save.
        keep: How many of the newest checkpoints to keep. Defaults to all.
        keep_best: How many of the best checkpoints, by ``monitor``, to keep in addition. Defaults to None: none.
        monitor: The metric that decides which is best. NaN is never best, and gives a warning. Defaults to None.
        goal: ``"min"`` if smaller values of the metric are better, ``"max"`` if larger ones are. Defaults to ``"min"``.
        keep_every: Checkpoints whose step is a multiple of this are kept in addition. Defaults to None.
        roots: Names and objects, as for `Checkpoint`. Without roots, the manager can list checkpoints, but not save.

    Raises:
        ArgumentError: a number is less than one, or would have no effect.
        ArgumentTypeError: a root cannot be saved.

    Example:
        >>> import tempfile
        >>> import graftax as gx
        >>> w = gx.Variable([1.0, 2.0])
        >>> manager = CheckpointManager(tempfile.mkdtemp(), keep=2, keep_best=1, monitor="loss", w=w)
        >>> for step, loss in ((10, 0.5), (20, 0.2), (30, 0.4), (40, 0.3)):
        ...     _ = manager.save(step, metrics={"loss": loss})
        >>> [record.step for record in manager.all()]
        [20, 30, 40]
        >>> manager.latest().step, manager.best().step
        (40, 20)
    """

    @door
    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        keep: int | None = None,
        keep_best: int | None = None,
        monitor: str | None = None,
        goal: str = "min",
        keep_every: int | None = None,
        **roots: Root,
    ) -> None:
        check_roots(CheckpointManager, roots)
        self._storage, self._folder = place_of(directory)
        self.retention = Retention(keep, keep_best, monitor, goal, keep_every)
        self.retention.check()
        if self._storage.is_checkpoint(self._folder):
            raise ArgumentError(
                f"{os.fspath(directory)} is a checkpoint", "a manager takes the folder around it", "its parent folder"
            )
        self.directory = os.fspath(directory)
        self._checkpoint = Checkpoint(**roots) if roots else None
        self._preparation = Preparation(self._checkpoint.roots if self._checkpoint is not None else {})
        self._background: Background[SaveReport] = Background()
        self._saved: int | None = None
        if is_first():
            self._storage.sweep(self._folder)

    @property
    def checkpoint(self) -> Checkpoint:
        """Return the `Checkpoint` of the roots.

        Raises:
            StateError: the manager was created without roots.
        """
        if self._checkpoint is None:
            raise StateError(
                f"a manager of {self.directory} without roots",
                "without roots it can list checkpoints, but neither save nor restore one",
                "CheckpointManager(directory, model=model, optimizer=optimizer)",
            )
        return self._checkpoint

    def hold(self, **roots: Root) -> None:
        """Add roots to those that are saved and restored from now on; a root of the same name is replaced."""
        there = {} if self._checkpoint is None else self._checkpoint.roots
        if any(there.get(name) is not root for name, root in roots.items()):
            self._checkpoint = Checkpoint(**{**there, **roots})
            self._preparation = Preparation(self._checkpoint.roots)

    # --- listing ------------------------------------------------------------------------------------------------------

    @door
    def all(self) -> list[Record]:
        """Return the records of all complete checkpoints, the lowest step first; an empty list if there are none."""
        heads = [(step, self._summary(name_of(step))) for step in self._steps()]
        return [Record(step, self._path(step), head.metrics) for step, head in heads if head and head.step == step]

    @door
    def latest(self) -> Record | None:
        """Return the record of the complete checkpoint with the highest step; None if there are none."""
        for step in reversed(self._steps()):
            if (head := self._summary(name_of(step))) is not None and head.step == step:
                return Record(step, self._path(step), head.metrics)
        return None

    @door
    def best(self) -> Record | None:
        """Return the record with the best value of ``monitor``; None if there are none.

        Checkpoints with NaN are ignored.

        Raises:
            StateError: the manager was created without ``monitor=``.
        """
        if self.retention.monitor is None:
            raise StateError("best() of a manager without monitor=", "no metric ranks them", 'monitor="val_loss"')
        return next(iter(self.retention.best(self.all())), None)

    # --- saving -------------------------------------------------------------------------------------------------------

    @door
    def save(
        self,
        step: int | None = None,
        *,
        metrics: Mapping[str, float] | None = None,
        meta: Mapping[str, Any] | None = None,
        base: str | os.PathLike[str] | None = None,
        async_: bool = False,
        competes: bool = True,
    ) -> Record | None:
        """Save as ``step-<step>``, then delete the checkpoints that are not kept.

        Args:
            step: The training step. Defaults to one more than the highest existing step.
            metrics: Numbers by name; the monitored one must be among them. If that is NaN, there is a warning, and the
                checkpoint is not one of the best. Defaults to none.
            meta: Values of your own, as for `Checkpoint.save`. Defaults to none.
            base: A checkpoint in the same folder that arrays may refer to, as for `Checkpoint.save`. Defaults to None.
            async_: Return once all values are captured, and write in a background thread. Defaults to False.
            competes: Whether the checkpoint may be one of the best, and so needs the monitored metric. False for a save
                between two validations. Defaults to True.

        Returns:
            The record, or None if this manager has already saved a checkpoint with that step as its newest one.

        Raises:
            ArgumentError: the step is below an existing one, or a metric is missing or not a number.
            AsyncSaveFailed: the asynchronous save before this one failed.
            SaveError: the checkpoint could not be written; nothing was published, and nothing was deleted.
        """
        _ = self.checkpoint  # raises if there are no roots
        self._background.check()
        highest = max([*self._steps(), -1 if self._saved is None else self._saved], default=-1)
        step = highest + 1 if step is None else step
        if step == highest and step == self._saved:
            return None
        self._check_step(step, highest)
        rated = self.retention.convert_metrics(metrics, competes, self.directory)
        if meta is not None and "metrics" in meta:
            raise ArgumentError("meta with the key 'metrics'", "that is where metrics= are kept", "another key")
        path = self._path(step)
        prepared = self._preparation.prepare(path, Subset(), step, {**(meta or {}), "metrics": rated})

        def work() -> SaveReport:
            report = write(path, prepared, base=base)
            if is_first():
                self._prune()
            return report

        if async_:
            self._background.submit(f"the save of {path}", work)
        else:
            self._background.wait()
            work()
        self._saved = step
        return Record(step, path, rated)

    @door
    def wait(self) -> SaveReport | None:
        """Wait for the asynchronous save, and return its report; None if there was none.

        Raises:
            AsyncSaveFailed: the save failed. A failure that is never waited for is printed when Python exits.
        """
        return self._background.wait()

    def _check_step(self, step: int, highest: int) -> None:
        if type(step) is not int or not 0 <= step < 10**18:
            raise ArgumentError(f"step={step!r}", "a step is an int, zero or more", "step=int(counter.value)")
        if step <= highest:
            raise ArgumentError(
                f"step={step} into {self.directory}, which has step {highest}",
                "the latest checkpoint is the one with the highest step, and this one would not be it",
                f"manager.rewind({step - 1}) deletes the later ones; or another directory; or a step above {highest}",
            )

    # --- restoring ----------------------------------------------------------------------------------------------------

    @door
    def restore_latest(
        self,
        *,
        only: SelectorLike | None = None,
        skip: SelectorLike | None = None,
        map: Mapping[str, str] | None = None,
        mode: str = "exact",
        cast: str = "exact",
        trainable: str | None = None,
        settings: str = "same",
    ) -> RestoreReport:
        """Restore the latest complete checkpoint. If there is none, nothing is restored.

        Args:
            only: As for `Checkpoint.restore`.
            skip: Likewise.
            map: Likewise.
            mode: Likewise.
            cast: Likewise.
            trainable: Likewise.
            settings: Likewise.

        Returns:
            The report, which has the step. Its ``path`` is None if nothing was restored.
        """
        self.wait()
        path = result_of_first_process(_LATEST, self._latest_path)
        return self.checkpoint.restore(
            path, only=only, skip=skip, map=map, mode=mode, cast=cast, trainable=trainable, settings=settings
        )

    @door
    def restore_or_initialize(
        self,
        initialize: Callable[[], object],
        *,
        only: SelectorLike | None = None,
        skip: SelectorLike | None = None,
        map: Mapping[str, str] | None = None,
        mode: str = "exact",
        cast: str = "exact",
        trainable: str | None = None,
        settings: str = "same",
    ) -> RestoreReport:
        """Restore the latest complete checkpoint, or call a function if there is none.

        Args:
            initialize: The function to call for a new run.
            only: As for `Checkpoint.restore`.
            skip: Likewise.
            map: Likewise.
            mode: Likewise.
            cast: Likewise.
            trainable: Likewise.
            settings: Likewise.

        Returns:
            The report. Its ``path`` is None if the function was called.
        """
        check_takes("restore_or_initialize", "initialize", initialize, (), "initialize=lambda: make(model)")
        self.wait()
        if result_of_first_process(_LATEST, self._latest_path) is None:
            initialize()
        return self.restore_latest(
            only=only, skip=skip, map=map, mode=mode, cast=cast, trainable=trainable, settings=settings
        )

    # --- the folder ---------------------------------------------------------------------------------------------------

    @door
    def rewind(self, step: int) -> list[Record]:
        """Delete all checkpoints after a step, to continue from there, and return their records.

        Raises:
            CheckpointInUse: another checkpoint refers to one of them.
        """
        self.wait()
        later = [record for record in self.all() if record.step > step]
        with barriers_around("rewind"):
            for record in reversed(later) if is_first() else ():
                delete(record.path)
        self._saved = None
        return later

    @door
    def on_preemption(self, signals: Sequence[int] = (SIGTERM,)) -> Preemption:
        """Return a ``with`` block that records signals to terminate, so that the loop can save before it ends.

        Example:
            >>> import tempfile
            >>> import graftax as gx
            >>> manager = CheckpointManager(tempfile.mkdtemp(), w=gx.Variable([1.0]))
            >>> with manager.on_preemption() as preemption:
            ...     for step in range(3):
            ...         if preemption.came:
            ...             _ = manager.save(step)
            ...             break
        """
        return Preemption(signals)

    def _latest_path(self) -> str | None:
        found = self.latest()
        return None if found is None else found.path

    def _steps(self) -> list[int]:
        try:
            names = self._storage.names(self._folder)
        except OSError:
            return []
        return sorted(int(match[1]) for name in names if (match := _NAME.fullmatch(name)))

    def _path(self, step: int) -> str:
        return self._storage.join(self._folder, name_of(step))

    def _summary(self, name: str, tells: bool = True) -> Summary | None:
        try:
            return summary(self._storage, self._storage.join(self._folder, name))
        except CheckpointError as error:
            if tells:
                user_line.warn(
                    f"{self._storage.join(self._folder, name)} is passed over, since it is damaged: {error.received}. "
                    "graftax ckpt verify says more; delete the checkpoint to stop this warning."
                )
        except OSError:
            pass
        return None

    def _prune(self) -> None:
        """Delete the checkpoints that are not kept, except unreadable ones and those that no manager saved."""
        if self.retention.keep is None:
            return
        heads = {
            name: head
            for name in self._storage.names(self._folder)
            if ((match := STAGING.fullmatch(name)) is None or match["name"]) and (head := self._summary(name, False))
        }
        records = [
            Record(int(match[1]), self._storage.join(self._folder, name), head.metrics)
            for name, head in heads.items()
            if (match := _NAME.fullmatch(name)) and head.step == int(match[1])
        ]
        for record in self.retention.to_delete(records, {name: head.targets for name, head in heads.items()}):
            self._storage.remove(record.path)

    def __repr__(self) -> str:
        roots = () if self._checkpoint is None else self._checkpoint.roots
        return f"CheckpointManager({', '.join([repr(self.directory), *roots])})"


def name_of(step: int) -> str:
    """Return the name of a checkpoint in its folder."""
    return f"step-{step}"
