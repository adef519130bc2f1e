"""Resuming a run from its latest checkpoint."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from graftax.checkpoint.checkpoint import Checkpoint
from graftax.checkpoint.different_settings import line_of
from graftax.checkpoint.graph import Graph
from graftax.checkpoint.manager import CheckpointManager
from graftax.checkpoint.reader import Reader
from graftax.checkpoint.report import RestoreReport
from graftax.core import user_line
from graftax.core.errors import ArgumentTypeError, CheckpointError, MatchError
from graftax.metrics.metric import Metric
from graftax.reparam.settings import text_of
from graftax.training import executions
from graftax.training.batch import Batch
from graftax.training.finished_run import tell_nothing_left
from graftax.training.first_step import FirstStep
from graftax.training.objectives import require_objectives
from graftax.training.resumed_metrics import ROOT, lacks_some, list_resumed_metrics
from graftax.training.run import Run
from graftax.training.run_state import RunState
from graftax.training.sources.on_device import as_tuple, host_of
from graftax.training.sources.source import Source
from graftax.training.trainable_model import TrainableModel
from graftax.transforms.compile.compiled_function import CompiledFunction


def open_manager(where: object, run: RunState, argument: str, **settings: Any) -> CheckpointManager:
    """Return the manager that saves and restores a run: the given one, or a new one for a directory.

    Args:
        where: A directory, or a manager, to which missing roots of the run are added.
        run: The run.
        argument: The caller, for the message.
        settings: The settings of a new manager: ``keep=`` and so on.

    Raises:
        ArgumentTypeError: ``where`` is neither.
    """
    if isinstance(where, CheckpointManager):
        where.hold(**run.roots())
        return where
    if not isinstance(where, str | os.PathLike):
        raise ArgumentTypeError(
            f"{argument} got {where!r:.60}", "it takes a directory or a CheckpointManager", f'{argument} "runs/first"'
        )
    return CheckpointManager(where, **settings, **run.roots())


def resume_run(run: Run, where: object, validation: Source | None = None) -> bool:
    """Restore the latest checkpoint of a run; return False if there is none.

    The model is built and its step is traced before, so that all saved values have their Variables; the step of the
    validation, too, if metrics of the checkpoint are made by that alone.

    Args:
        run: The run.
        where: A directory, or a manager.
        validation: The source of the validation. Defaults to None: there is none.

    Raises:
        MatchError: the checkpoint is from another program; nothing has changed.
        DataError: the data are different.
    """
    manager = open_manager(where, run, "resume=")
    latest = manager.latest()
    if latest is None:
        return False
    _make_ready(run.model, "train_step", run.source.example())
    manager.hold(**run.roots())  # tracing the step has created the metrics
    try:
        with Reader(latest.path) as reader:
            index = reader.index
        if ROOT not in index.roots:
            manager.restore_latest()  # which tells what the checkpoint is not
            return True
        objectives = require_objectives(run.model)
        if validation is not None and lacks_some(index, objectives.metrics_by_name):
            _make_ready(run.model, "test_step", validation.example())
        manager.hold(**run.roots())
        found = list_resumed_metrics(index, objectives.metrics_by_name)
        roots = {**manager.checkpoint.roots, ROOT: found.root}
        manager.wait()
        run.note_program()  # as the program makes them, before those of the checkpoint are set
        report = Checkpoint(**roots).restore(latest.path, skip=list(found.skip), settings="program", trainable="saved")
    except CheckpointError as error:
        error.add_context("fit(resume=...), which restores model, optimizer, metrics and all that the run remembers")
        if isinstance(error, MatchError):
            error.instead = (
                "the model, the optimizer and the callbacks as in the run that is resumed; if a callback of that run "
                "called compile or gx.graft, the same calls in the program, before fit. Or take what fits into "
                f"another run, without resume=: gx.Checkpoint(model=model).restore({os.fspath(latest.path)!r}, "
                'mode="overlap")'
            )
        raise
    is_finished = run.epoch >= run.params["epochs"]
    numbers = run.program.choose(report, goes_on=not is_finished)
    if is_finished:
        tell_nothing_left(os.fspath(latest.path), run.params["epochs"], run.compiled_before, run.compiled, numbers)
    warn_of_settings(report, roots, is_within_epoch=run.index > 0)
    found.begin_new(run.index)
    return True


def warn_of_settings(report: RestoreReport, roots: Mapping[str, Any], is_within_epoch: bool = True) -> None:
    """Warn of expressions and metrics that go on with other settings: a program may change them, as of any layer.

    Args:
        report: The report of the restore.
        roots: The objects that it restored.
        is_within_epoch: Whether metrics go on with what they have counted; at the start of an epoch they begin anew.
            Defaults to True.
    """
    if not report.other_settings:
        return
    graph = Graph(roots, settles=False)
    for path, then, _ in report.other_settings:
        place = graph.find(path)
        line = None if place is None else line_of(path, place.thing, then)  # callbacks' are set again by now
        if place is None or line is None:
            continue
        now, saved = text_of(line.now), text_of(line.saved)
        told = f"resume=: {path} goes on with {now} of the program, and had {saved} in the run that is resumed"
        if not isinstance(place.thing, Metric):
            user_line.warn(
                f"{told}: its weight is another one from here on. Instead: the settings as they were, and after the "
                'run, in a program with others, gx.Checkpoint(model=model).restore(path, settings="program")'
            )
        elif is_within_epoch:
            user_line.warn(
                f"{told}: what it counted with these stays in its result. Instead: the metric with its settings as "
                "they were; or metric.reset() before it goes on"
            )


def _make_ready(model: TrainableModel, name: str, batch: Batch) -> None:
    step = model._gx_compiled_step(name)
    builds = name == "train_step" and model._gx_has_own(name)
    ready = FirstStep(model, require_objectives(model), builds=builds)
    given = as_tuple(batch)
    ready.prepare(step, given, [host_of(batch)])
    if model._gx_run_eagerly:
        traced = executions.compile_step(model, name, executions.CompiledSteps(), check_nans=False, eager=False)
        if isinstance(traced, CompiledFunction):  # tracing creates variables and slots
            traced.trace(given)
