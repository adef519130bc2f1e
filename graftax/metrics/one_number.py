"""The check that metrics of a model give one number each, as what shows them needs."""

from __future__ import annotations

from typing import Any

from graftax.core.errors import ArgumentError
from graftax.metrics.confusion import Count
from graftax.metrics.f_score import F1Score, FBetaScore
from graftax.metrics.precision_recall import Share


def require_one_number(metric: object) -> None:
    """Raise for a metric that gives a number for each class or threshold where one is shown, as in training.

    Raises:
        ArgumentError: it gives several.
    """
    kind: Any = type(metric)
    if isinstance(metric, Count | Share) and metric.gives_several and kind.result in (Count.result, Share.result):
        each = metric.thresholds or ()
        named = (f'{kind.__name__}({one:g}, name="{metric.name}_at_{one:g}")' for one in each[:2])
        raise _several_numbers_error(
            metric, "threshold", f"[{', '.join(named)}{', ...' if len(each) > 2 else ''}], one for each"
        )
    if isinstance(metric, FBetaScore) and metric.average is None and kind.result is FBetaScore.result:
        beta = "" if isinstance(metric, F1Score) else f", beta={metric.beta:g}"
        threshold = "" if metric.threshold is None else f", threshold={metric.threshold:g}"
        line = f'{kind.__name__}("macro"{beta}{threshold}); model.predict(x) and the metric itself for each class'
        raise _several_numbers_error(metric, "class", line)


def _several_numbers_error(metric: object, of: str, instead: str) -> ArgumentError:
    return ArgumentError(
        f"metrics got {metric!r}, whose result is a number for each {of}",
        "callbacks, the history and the bar show one number for each metric",
        instead,
    )
