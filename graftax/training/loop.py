"""The loops behind fit, evaluate and predict."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any

import numpy as np

from graftax.backend import registry
from graftax.core import tree, user_line
from graftax.core.errors import DataError, NumericsError
from graftax.training.active_loops import is_in_loop, isolated_metrics, stepping
from graftax.training.batch import unpack
from graftax.training.callbacks.learning_rate import rates_of, steps_taken
from graftax.training.callbacks.model_checkpoint import ModelCheckpoint
from graftax.training.callbacks.progress import Progress
from graftax.training.carried_states import refuse_shuffled, states_kept
from graftax.training.column_order import in_each_batch
from graftax.training.compiled_loss import warn_of_lost
from graftax.training.counted_steps import run_group, run_step
from graftax.training.evaluated_together import batches_per_run
from graftax.training.executions import TEST_STEPS
from graftax.training.first_step import FirstStep, build_for_hooks
from graftax.training.given_to_run import GivenToRun
from graftax.training.groups import groups_of, up_to_last_step
from graftax.training.hooks.callback import Callback, Logs
from graftax.training.hooks.callback_list import CallbackList, as_list
from graftax.training.hooks.ended import STEPS_ENDED
from graftax.training.hooks.history import History
from graftax.training.interrupts import Interrupts
from graftax.training.objectives import require_objectives
from graftax.training.predicted_rows import in_order, predict_batch, require_alike
from graftax.training.resuming import resume_run
from graftax.training.run import Run
from graftax.training.sources import choosing as data
from graftax.training.sources.array_source import ArraySource
from graftax.training.sources.indexed_source import IndexedSource
from graftax.training.sources.iterable_source import IterableSource
from graftax.training.sources.source import Source
from graftax.training.spread import (
    Spread,
    gather_outputs,
    limit_to_main,
    require_one_call,
    require_one_end,
    require_one_stop,
)
from graftax.training.trainable_model import TrainableModel
from graftax.training.trained_before import TrainedBefore
from graftax.training.unread_by_step import UnreadByStep


def visible_progress(progress: Progress) -> list[Progress]:
    """Return the progress bar in a list, or an empty list if it shows nothing, so that it costs no time."""
    return [] if progress.is_silent else [progress]


def fit(
    model: TrainableModel,
    source: Source,
    validation: Source | None,
    epochs: range,
    verbose: int | str,
    callbacks: Sequence[Callback],
    is_due: Callable[[int], bool],
    check_nans: bool = False,
    resume: object = None,
) -> History:
    """Run `train_step` on the batches of some epochs."""
    in_each_batch(model, source, learns=True)
    in_each_batch(model, validation)
    refuse_shuffled(model, source)
    if model._gx_objectives:
        warn_of_lost(model, **model._gx_objectives.given_losses())
    data.require_enough(validation, sum(map(is_due, epochs)))
    history, progress = History(), Progress(limit_to_main(verbose))
    params: dict[str, Any] = {
        "verbose": verbose,
        "epochs": epochs.stop,
        "steps": source.steps,
        "step": steps_taken(model),
        "training": True,
        "validating": False,
        "validates": validation is not None,
        "validation_steps": None if validation is None else validation.steps,
    }
    given = as_list(callbacks)
    # they run after all others, except at the end of training, where they run first
    savers = [one for one in given if isinstance(one, ModelCheckpoint)]
    others = [*(one for one in given if one not in savers), history, *visible_progress(progress)]
    run = params["run"] = Run(model, source, validation, [*given, history], params)
    run.begin_at(epochs.start)
    run.is_saved = bool(savers)
    if isinstance(source, IterableSource | IndexedSource):
        source.remembers = bool(savers)
    with isolated_metrics(model, "fit"), Interrupts() as interrupts, TrainedBefore(model) as before:
        require_one_call(
            model,
            [
                ("epochs", epochs),
                ("validation", "none" if validation is None else f"batches: {validation.steps}"),
                ("validation_freq", [epoch + 1 for epoch in epochs if is_due(epoch)]),
                ("steps_per_execution", model.steps_per_execution),
                ("check_nans", check_nans),
                ("whether it resumes", resume is not None),
            ],
        )
        is_resumed = resume is not None and resume_run(run, resume, validation)
        before.begin()
        hooks, last = model._gx_hooks(others, params), model._gx_hooks(savers, params)
        model._gx_history, model.stop_training = history, False
        with _reporting_errors(hooks, progress, last):
            if isinstance(source, ArraySource) and not model._gx_has_own("train_step"):
                build_for_hooks(model, unpack(source.example())[0])
            run.begin_training(hooks, last)
            logs = _epochs(
                model, run, hooks, last, validation, range(run.epoch, epochs.stop), is_due, check_nans, is_resumed,
                interrupts,
            )  # fmt: skip
            last.run("on_train_end", logs=logs)
            progress.clear()
            hooks.run("on_train_end", logs=logs)
    return history


def _epochs(
    model: TrainableModel,
    run: Run,
    hooks: CallbackList,
    last: CallbackList,
    validation: Source | None,
    epochs: range,
    is_due: Callable[[int], bool],
    check_nans: bool,
    is_resumed: bool,
    interrupts: Interrupts,
) -> Logs:
    """Run the epochs of a fit, the first one from the position where it is resumed."""
    source, logs = run.source, Logs({})
    unread = UnreadByStep(
        model, "train_step", source.weighted_by, warns_of_metrics=validation is None, warns_of_terms=True
    )
    unread_beside = UnreadByStep(model, "test_step", trained=unread)
    compiled, given = require_objectives(model), GivenToRun(model, source, validation, hooks.callbacks)
    for epoch in epochs:
        if model.stop_training:
            break
        run.params["steps"] = source.steps_in(epoch, run.index)  # the length of the data may change between epochs
        run.begin_epoch(hooks)
        planned = source.steps_in(epoch, run.index)
        if not is_resumed or run.index == 0:
            model.reset_metrics()
        with stepping(model):
            found = _train_epoch(model, run, hooks, last, check_nans, unread, interrupts)
        if run.index == 0:
            _check_batches_left(epoch, epochs, source)
            break
        numbers = {name: _host(value) for name, value in found.items()}
        run.params[STEPS_ENDED] = time.perf_counter()  # these numbers have waited for the last step
        if model.stop_training and (planned is None or run.index < planned):
            require_one_stop(model, epoch, run.index)
            if _save_unfinished(last):
                break
        run.begin_end_of_epoch()
        if validation is not None and is_due(epoch):
            numbers |= _validate(model, validation, hooks, epoch, unread_beside)
        before, logs, objectives = logs, Logs(_with_rates(model, numbers)), compiled
        compiled = require_objectives(model)
        if compiled is not objectives:
            _tell_other_names(epoch, before, logs)
        for one in hooks.callbacks:
            if isinstance(one, Progress):
                one.clear()
        steps = run.index
        hooks.run("on_epoch_end", epoch, logs=logs)
        run.end_epoch()
        last.run("on_epoch_end", epoch, logs=logs)
        require_one_end(model, epoch)
        given.warn_if_changed()
        if model.stop_training:
            break
        if planned is not None and steps < planned:
            user_line.warn(
                f"training stops after epoch {epoch + 1}: the data ended after {steps} of {planned} steps. "
                f"Instead: {_FEWER if data.is_iterator(source) else f'steps_per_epoch={steps}'}"
            )
            break
    return logs


def _tell_other_names(epoch: int, before: Logs, now: Logs) -> None:
    """Warn if a `compile` within fit has made the numbers of training others, from this epoch on."""
    old, new = ([name for name in logs if not name.startswith("val_")] for logs in (before, now))
    gone, added = ([name for name in one if name not in other] for one, other in ((old, new), (new, old)))
    if gone or added:
        told = [f"{', '.join(map(repr, gone))} only before"] * bool(gone)
        told += [f"{', '.join(map(repr, added))} only from it on"] * bool(added)
        user_line.warn(
            f"the model was compiled again within fit, before epoch {epoch + 1}: the history has {' and '.join(told)}, "
            "so its lists do not belong to the same epochs. Instead: the same metrics in each compile, or fit(..., "
            f"initial_epoch={epoch}) after fit(..., epochs={epoch}) and compile"
        )


def _save_unfinished(savers: CallbackList) -> bool:
    """Save a run that ends within an epoch, which goes on there; return whether that is all there is time for."""
    found = [saver for saver in savers.callbacks if isinstance(saver, ModelCheckpoint)]
    for saver in found:
        saver.save_within_epoch()
    return any(saver.preempted for saver in found)


@contextmanager
def _reporting_errors(hooks: CallbackList, progress: Progress, *others: CallbackList) -> Iterator[None]:
    """Report an error of the block to the callbacks, and release the terminal in any case."""
    try:
        yield
    except BaseException as error:
        progress.close()
        for one in (hooks, *others):
            one.on_exception(error)
        raise
    progress.close()


def _validate(
    model: TrainableModel, source: Source, hooks: CallbackList, epoch: int, unread: UnreadByStep
) -> dict[str, float]:
    hooks.params["validating"] = True
    try:
        with states_kept(model), stepping(model):
            found = _evaluate(model, source, hooks, unread)
    except DataError as error:
        error.add_context(f"the validation after epoch {epoch + 1}")
        raise
    finally:
        hooks.params["validating"] = False
    return {f"val_{name}": value for name, value in found.items()}


def _with_rates(model: TrainableModel, numbers: dict[str, Any]) -> dict[str, Any]:
    """Return the numbers of an epoch, with the learning rates at its end, unless a number has such a name."""
    rates = rates_of(model)
    return {**numbers, **{name: rate for name, rate in rates.items() if name not in numbers}}


def _train_epoch(
    model: TrainableModel,
    run: Run,
    hooks: CallbackList,
    last: CallbackList,
    check_nans: bool,
    unread: UnreadByStep,
    interrupts: Interrupts,
) -> Mapping[str, Any]:
    step = model._gx_compiled_step("train_step", check_nans=check_nans)
    objectives = require_objectives(model)
    ready = FirstStep(model, objectives, model._gx_has_own("train_step"), unread)
    spread = Spread(model, run.source, trains=True)
    logs: Mapping[str, Any] = run.logs or (objectives.results() if run.index else {})
    size = 1 if check_nans else model.steps_per_execution
    take: Callable[[Any], Mapping[str, Any]] = (
        partial(run_step, step, ready, spread, run)
        if size == 1
        else partial(run_group, step, model._gx_compiled_step("train_steps"), ready, spread, run)
    )
    where = run.epoch, run.index
    batches: Iterator[Any] = (
        run.source.epoch(*where) if size == 1 else up_to_last_step(groups_of(run.source, *where, size), run.params)
    )
    begins = [*last.runs("on_train_batch_begin"), *hooks.runs("on_train_batch_begin")]
    ends = [*hooks.runs("on_train_batch_end"), *last.runs("on_train_batch_end")]
    for some in batches:
        interrupts.raise_if_came()
        for begin in begins:
            begin(run.index)
        try:
            logs = take(some)
        except NumericsError as error:
            error.add_context(f"epoch {run.epoch + 1}, step {run.index + 1} of it")
            raise
        except Exception as error:
            ready.explain(error)
            raise
        objectives.warn_of_scores()
        for end in ends:
            end(run.index - 1, logs=logs)
        if model.stop_training:
            break
    ready.zero_weights.warn(logs)
    return logs


_FEWER = "fewer steps or epochs, an iterator with enough batches for all of them, or " + data.ANEW


def _check_batches_left(epoch: int, epochs: range, source: Source) -> None:
    if epoch == epochs.start:
        raise _no_batch_error(source, "there is nothing to train on")
    user_line.warn(f"training stops before epoch {epoch + 1}: the iterator has no batches left. Instead: {_FEWER}")


def _no_batch_error(source: Source, reason: str) -> DataError:
    if not data.is_iterator(source):
        return DataError("the data yielded no batch", reason, "at least one batch")
    return DataError(
        "the iterator yielded no batch", f"{reason}: it is empty, or used up by an earlier pass", data.ANEW
    )


def evaluate(
    model: TrainableModel, source: Source, verbose: int | str, callbacks: Sequence[Callback]
) -> dict[str, float]:
    """Run `test_step` on all batches."""
    in_each_batch(model, source)
    progress = Progress(limit_to_main(verbose))
    with isolated_metrics(model, "evaluate"):
        params = {"verbose": verbose, "epochs": 1, "steps": source.steps, "step": steps_taken(model)}
        hooks = model._gx_hooks([*as_list(callbacks), *visible_progress(progress)], params)
        with states_kept(model), stepping(model), _reporting_errors(hooks, progress):
            return _evaluate(model, source, hooks, UnreadByStep(model, "test_step", source.weighted_by))


def _evaluate(model: TrainableModel, source: Source, hooks: CallbackList, unread: UnreadByStep) -> dict[str, float]:
    model.reset_metrics()
    hooks.run("on_test_begin")
    step, objectives = model._gx_compiled_step("test_step"), require_objectives(model)
    ready, spread = FirstStep(model, objectives, False, unread), Spread(model, source)
    logs: Mapping[str, Any] | None = None
    begins, ends = hooks.runs("on_test_batch_begin"), hooks.runs("on_test_batch_end")
    size = batches_per_run(model, source, is_watched=bool(begins or ends))
    take: Callable[[Any], Mapping[str, Any]] = (
        partial(run_step, step, ready, spread, None)
        if size == 1
        else partial(run_group, step, model._gx_compiled_step(TEST_STEPS), ready, spread, None)
    )
    batches: Iterator[Any] = source.epoch(0) if size == 1 else groups_of(source, 0, 0, size)
    done = 0
    with Interrupts() as interrupts:
        for some in batches:
            interrupts.raise_if_came()
            for begin in begins:
                begin(done)
            logs = take(some)
            objectives.warn_of_scores()
            done += 1 if size == 1 else len(some)
            for end in ends:
                end(done - 1, logs=logs)
    if logs is None:
        raise _no_batch_error(source, "there is nothing to evaluate")
    _warn_if_short(done, source)
    ready.zero_weights.warn(logs)
    if model._gx_functions is not None and size == 1:
        model._gx_functions.tested += done
    results = dict(Logs(logs))
    hooks.run("on_test_end", logs=results)
    return results


def predict(model: TrainableModel, source: Source, verbose: int | str, callbacks: Sequence[Callback]) -> Any:
    """Run `predict_step` on all batches, and concatenate the rows."""
    in_each_batch(model, source)
    progress = Progress(0 if verbose == 2 else limit_to_main(verbose))
    params = {"verbose": verbose, "epochs": 1, "steps": source.steps}
    hooks = model._gx_hooks([*as_list(callbacks), *visible_progress(progress)], params)
    step, spread = model._gx_compiled_step("predict_step"), Spread(model, source)
    parts = []
    # outside of loops, the state of a stateful layer goes on from one call to the next
    kept = states_kept(model) if is_in_loop(model) else nullcontext()
    with kept, _reporting_errors(hooks, progress), Interrupts() as interrupts:
        hooks.run("on_predict_begin")
        begins, ends = hooks.runs("on_predict_batch_begin"), hooks.runs("on_predict_batch_end")
        for i, batch in enumerate(source.epoch(0)):
            interrupts.raise_if_came()
            for begin in begins:
                begin(i)
            parts.append(predict_batch(model, step, spread(unpack(batch)[0]), is_first=i == 0))
            require_alike(model, parts[0], parts[-1], i)
            for end in ends:
                end(i)
        hooks.run("on_predict_end")
    if not parts:
        raise _no_batch_error(source, "there is nothing to predict")
    _warn_if_short(len(parts), source)
    order = source.row_order() if isinstance(source, IterableSource) else None
    return tree.map_structure(lambda *rows: in_order(np.concatenate(gather_outputs(rows)), order), *parts)


def _warn_if_short(steps: int, source: Source) -> None:
    if source.steps is not None and steps < source.steps:
        user_line.warn(f"the data ended after {steps} of {source.steps} steps")


def _host(value: Any) -> Any:
    return registry.current().arrays.to_numpy(value) if hasattr(value, "dtype") else value
