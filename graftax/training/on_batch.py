"""Steps on one batch, for whoever has a loop of his own."""

from __future__ import annotations

from graftax.core import tree
from graftax.core.errors import GraftaxError
from graftax.training.at_work import at_work, own_count
from graftax.training.batch import Batch
from graftax.training.callbacks.callback import Logs
from graftax.training.first_step import FirstStep
from graftax.training.objectives import required_objectives
from graftax.training.spread import Spread, whole
from graftax.training.trained import Trained


def on_batch(model: Trained, step: str, batch: Batch, starts_over: bool) -> dict[str, float]:
    """Run a step of a model, by name, on one batch; with metrics that start over, or go on from what they are."""
    what = "train_on_batch" if step == "train_step" else "test_on_batch"
    with own_count(model, what) if starts_over else at_work(model, what):
        if starts_over:
            model.reset_metrics()
        return _on_batch(model, step, batch)


def _on_batch(model: Trained, step: str, batch: Batch) -> dict[str, float]:
    run, objectives = model._gx_compiled_step(step), required_objectives(model)
    own = step == "train_step" and model._gx_has_own("train_step")
    ready = FirstStep(model, objectives, builds=own)  # which looks before the step, as it may be traced in it
    given = Spread(model)(batch)
    try:
        ready.before(run, given, [batch])
        logs = run(given)
    except GraftaxError as error:
        ready.explain(error)
        raise
    objectives.warn_of_scores()
    return dict(Logs(logs))


def predict_on_batch(model: Trained, batch: Batch) -> object:
    """Run `predict_step` on one batch."""
    return tree.map_structure(whole, model._gx_compiled_step("predict_step")(Spread(model)(batch[0])))
