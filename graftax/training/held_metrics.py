"""The metrics that a model holds itself: in its attributes, in its layers, and in its ``metrics``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, count
from operator import is_
from typing import Any

from graftax.core.errors import ArgumentTypeError
from graftax.core.scopes import ScopeStack
from graftax.core.typedefs import Array
from graftax.metrics.metric import Metric
from graftax.metrics.reduction import Mean
from graftax.training.objectives import Objectives
from graftax.training.parts import parts_of
from graftax.variables.graph.module import Module
from graftax.variables.state.storage import frames


def list_held_metrics(model: Module) -> dict[str, Metric]:
    """Return the metrics in a model's object graph, by path, except those inside of other metrics."""
    return parts_of(model).metrics


def all_metrics(model: Any, compiled: Objectives | None, listed: Iterable[Any]) -> list[Metric]:
    """Return each metric once: those of ``compile``, those in the model's ``metrics``, and those it holds.

    Raises:
        ArgumentTypeError: ``metrics`` has an element that is not a metric.
    """
    found: dict[int, Metric] = {}
    for metric in [*(compiled.metrics if compiled is not None else ()), *listed, *list_held_metrics(model).values()]:
        if not isinstance(metric, Metric):
            raise ArgumentTypeError(
                f"the metrics of {type(model).__name__} list {metric!r:.80}",
                "each is reset at the start of an epoch, so it must be a graftax.metrics.Metric",
                "return [self.loss_tracker, ...], with graftax.metrics.Mean and others",
            )
        found.setdefault(id(metric), metric)
    return list(found.values())


def every_metric(model: Any) -> list[Metric]:
    """Return each metric once: those of `compile`, those that ``metrics`` of the model lists, and those it holds."""
    return all_metrics(model, model._gx_objectives, model.metrics)


_begun: ScopeStack[dict[int, list[Array]]] = ScopeStack("metrics before a step")
"""What metrics had, by the id of each, when the step of `fit` or `evaluate` began."""


@contextmanager
def untouched_left_out(model: Any, is_own: bool) -> Iterator[None]:
    """Let `results` leave out metrics that nothing updates in the block, which is one step.

    A metric that the user's own `train_step` updates says nothing about a validation, whose step does not update it.
    And a step of the user's need not update the mean of the loss, which would be 0 in place of the loss that it shows.

    Args:
        model: The model.
        is_own: Whether the step is the user's, who says which metrics it shows; then only means of losses are left out.
    """
    objectives: Objectives | None = model._gx_objectives
    looked_at: list[Metric] = [] if objectives is None else [*objectives.loss_means]
    looked_at += [] if is_own else all_metrics(model, None, model.metrics)
    with _begun.entered({id(metric): _values_of(metric) for metric in looked_at}):
        yield


def _values_of(metric: Metric) -> list[Array]:
    return [variable._gx_stored for variable in metric.variables]


def _is_untouched(metric: Metric) -> bool:
    before, now = (_begun.top or {}).get(id(metric)), _values_of(metric)
    return bool(now) and before is not None and len(before) == len(now) and all(map(is_, before, now))


def _has_no_loss(mean: Mean) -> bool:
    """Tell whether nothing has updated the mean of a loss in this step; outside of one, since the reset."""
    if _begun.top is not None or frames.top is not None:
        return _is_untouched(mean)
    return not mean.sums.numpy().any()


def results(model: Any, compiled: Objectives) -> dict[str, Array]:
    """Return the results of compiled metrics and of the model's own, by name, or by path if a name is not unique.

    Metrics of one name that no attribute holds, but ``metrics`` of the model lists, are numbered: ``a``, ``a_1``.
    """
    shown = compiled.results(without=[mean for mean in compiled.loss_means if _has_no_loss(mean)])
    known = {id(metric) for metric in compiled.metrics}
    paths = {id(metric): path for path, metric in list_held_metrics(model).items()}
    listed = [metric for metric in all_metrics(model, None, model.metrics) if id(metric) not in known]
    own = [metric for metric in listed if not _is_untouched(metric)]
    names = Counter([*shown, *(metric.name for metric in listed)])
    found = dict(shown)
    for metric in own:
        path = paths.get(id(metric), metric.name)
        name = metric.name if names[metric.name] == 1 else path
        result = metric.result()
        if isinstance(result, dict):
            for key, number in result.items():
                found[_free_name(key if key not in found else f"{path}/{key}", found)] = number
        else:
            found[_free_name(name, found)] = result
    return found


def _free_name(name: str, taken: Container[str]) -> str:
    """Return a name, with a number where it is taken."""
    return next(one for one in chain([name], (f"{name}_{i}" for i in count(1))) if one not in taken)
