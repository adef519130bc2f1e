"""The metrics that a model holds itself: in its attributes, in its layers, and in its ``metrics``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from graftax.core.errors import ArgumentTypeError
from graftax.core.typedefs import Array
from graftax.metrics.metric import Metric
from graftax.training.objectives import Objectives
from graftax.training.parts import parts_of
from graftax.variables.graph.module import Module


def held_metrics(model: Module) -> dict[str, Metric]:
    """Return the metrics in a model's object graph, by path, except those inside of other metrics."""
    return parts_of(model).metrics


def all_metrics(model: Any, compiled: Objectives | None, listed: Iterable[Any]) -> list[Metric]:
    """Return each metric once: those of ``compile``, those in the model's ``metrics``, and those it holds.

    Raises:
        ArgumentTypeError: ``metrics`` has an element that is not a metric.
    """
    found: dict[int, Metric] = {}
    for metric in [*(compiled.metrics if compiled is not None else ()), *listed, *held_metrics(model).values()]:
        if not isinstance(metric, Metric):
            raise ArgumentTypeError(
                f"the metrics of {type(model).__name__} list {metric!r:.80}",
                "each is reset at the start of an epoch, which a graftax.metrics.Metric can be",
                "return [self.loss_tracker, ...], with graftax.metrics.Mean and others",
            )
        found.setdefault(id(metric), metric)
    return list(found.values())


def every_metric(model: Any) -> list[Metric]:
    """Return each metric once: those of `compile`, those that ``metrics`` of the model lists, and those it holds."""
    return all_metrics(model, model._gx_objectives, model.metrics)


def results(model: Any, compiled: Objectives) -> dict[str, Array]:
    """Return the results of compiled metrics and of the model's own, by name, or by path if a name is not unique."""
    shown = compiled.results()
    known = {id(metric) for metric in compiled.metrics}
    paths = {id(metric): path for path, metric in held_metrics(model).items()}
    own = [metric for metric in all_metrics(model, None, model.metrics) if id(metric) not in known]
    names = Counter([*shown, *(metric.name for metric in own)])
    found = dict(shown)
    for metric in own:
        path = paths.get(id(metric), metric.name)
        name = metric.name if names[metric.name] == 1 else path
        result = metric.result()
        if isinstance(result, dict):
            found |= {key if key not in found else f"{path}/{key}": number for key, number in result.items()}
        else:
            found[name] = result
    return found
