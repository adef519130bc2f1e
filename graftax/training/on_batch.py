"""Steps on one batch, for training loops of users."""

from __future__ import annotations

from collections.abc import Mapping

from graftax.core import tree
from graftax.core.errors import GraftaxError
from graftax.training import arguments
from graftax.training.active_loops import active_loop, isolated_metrics
from graftax.training.batch import Batch, Parts, weighing_arguments
from graftax.training.class_weights import ClassWeights
from graftax.training.column_order import order_inputs, remember, sort_columns
from graftax.training.compiled_loss import warn_of_lost
from graftax.training.first_step import FirstStep
from graftax.training.hooks.callback import Logs
from graftax.training.misread_structures import explain_structure
from graftax.training.objectives import require_objectives
from graftax.training.sources.host_batches import host_batch
from graftax.training.spread import Spread, gather_output
from graftax.training.trainable_model import TrainableModel
from graftax.training.trained_before import TrainedBefore
from graftax.training.unread_by_step import UnreadByStep


def on_batch(
    model: TrainableModel, step: str, parts: Parts, reset_metrics: bool, class_weight: Mapping[int, float] | None = None
) -> dict[str, float]:
    """Run a step of a model, by name, on one batch.

    Args:
        model: The model.
        step: The name of the step.
        parts: What was given: x, y and sample weights, None for what was not.
        reset_metrics: Whether to reset the metrics before.
        class_weight: As for ``fit``; a batch need not have all the classes. Defaults to None, none.
    """
    starts_over = arguments.check_truth("reset_metrics", reset_metrics)
    x, y, sample_weight, _, columns = sort_columns(model, *parts)
    batch = host_batch(x, y, sample_weight, None if class_weight is None else ClassWeights(class_weight))
    method = "train_on_batch" if step == "train_step" else "test_on_batch"
    if step == "train_step":
        remember(model, columns)
    with isolated_metrics(model, method) if starts_over else active_loop(model, method):
        if starts_over:
            model.reset_metrics()
        return _on_batch(model, step, batch, weighing_arguments(parts[2], class_weight))


def _on_batch(model: TrainableModel, step: str, batch: Batch, weighted_by: tuple[str, ...]) -> dict[str, float]:
    run, objectives = model._gx_compiled_step(step), require_objectives(model)
    own = step == "train_step" and model._gx_has_own("train_step")
    unread = UnreadByStep(model, step, weighted_by, warns_of_metrics=False)
    ready = FirstStep(model, objectives, own, unread)  # checks before the step, which may be compiled
    given = Spread(model)(batch)
    try:
        first = None
        if step == "train_step" and not objectives.has_trained:
            warn_of_lost(model, **objectives.given_losses())
            first = TrainedBefore(model, is_whole=False)
            first.begin()
        ready.prepare(run, given, [batch])
        logs = run(given)
        if first is not None:
            first.end()
            objectives.has_trained = True
    except GraftaxError as error:
        ready.explain(error)
        raise
    objectives.warn_of_scores()
    return dict(Logs(logs))


def predict_on_batch(model: TrainableModel, x: object) -> object:
    """Run `predict_step` on one batch."""
    given = Spread(model)(host_batch(order_inputs(model, x))[0])
    try:
        return tree.map_structure(gather_output, model._gx_compiled_step("predict_step")(given))
    except GraftaxError as error:
        explain_structure(error, given, None, learns=False)
        raise
