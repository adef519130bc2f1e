"""Resuming a run from its latest checkpoint."""

from __future__ import annotations

import os
from typing import Any

from graftax.checkpoint.manager import CheckpointManager
from graftax.core.errors import ArgumentTypeError, CheckpointError
from graftax.training import executions
from graftax.training.batch import Batch
from graftax.training.first_step import FirstStep
from graftax.training.objectives import required_objectives
from graftax.training.run import Run, RunState
from graftax.training.sources.on_device import host_of, plain
from graftax.transforms.compile.jit import CompiledFunction


def managed(where: object, run: RunState, what: str, **settings: Any) -> CheckpointManager:
    """Return the manager that saves and restores a run: the given one, or a new one for a directory.

    Args:
        where: A directory, or a manager, to which missing roots of the run are added.
        run: The run.
        what: The caller, for the message.
        settings: The settings of a new manager: ``keep=`` and so on.

    Raises:
        ArgumentTypeError: ``where`` is neither.
    """
    if isinstance(where, CheckpointManager):
        where.hold(**run.roots())
        return where
    if not isinstance(where, str | os.PathLike):
        raise ArgumentTypeError(
            f"{what} got {where!r:.60}", "it takes a directory or a CheckpointManager", f'{what} "runs/first"'
        )
    return CheckpointManager(where, **settings, **run.roots())


def resumed(run: Run, where: object) -> bool:
    """Restore the latest checkpoint of a run; return False if there is none.

    The model is built and its step is traced before, so that all saved values have their Variables.

    Raises:
        MatchError: the checkpoint is from another program; nothing has changed.
        DataError: the data are different.
    """
    manager = managed(where, run, "resume=")
    if manager.latest() is None:
        return False
    _make_ready(run, run.source.example())
    manager.hold(**run.roots())  # tracing the step has created the metrics
    try:
        manager.restore_latest()
    except CheckpointError as error:
        error.add_context("fit(resume=...), which restores model, optimizer, metrics and all that the run remembers")
        raise
    return True


def _make_ready(run: Run, batch: Batch) -> None:
    model = run.model
    step = model._gx_compiled_step("train_step")
    ready = FirstStep(model, required_objectives(model), builds=model._gx_has_own("train_step"))
    given = plain(batch)
    ready.before(step, given, [host_of(batch)])
    if model._gx_run_eagerly:
        traced = executions.compiled(model, "train_step", executions.CompiledSteps(), check_nans=False, eager=False)
        if isinstance(traced, CompiledFunction):  # tracing creates variables and slots
            traced.trace(given)
