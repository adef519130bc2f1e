"""The metrics of a run that is resumed, and those of its checkpoint: which are the same, which are new, which left."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import NamedTuple

from graftax.checkpoint.index import Edge, Index, Kind
from graftax.checkpoint.paths import escape
from graftax.core import user_line
from graftax.metrics.metric import Metric

ROOT = "metrics"
"""The name of the root of a run that has them."""


class ResumedMetrics(NamedTuple):
    """The metrics of a program beside those of a checkpoint.

    ``root`` is what is restored in place of the run's own root, ``left`` names the metrics of the checkpoint that the
    program does not have, ``new`` has those of the program that the checkpoint does not have.
    """

    root: dict[str, Metric] | list[Metric]
    left: tuple[Edge, ...]
    new: dict[str, Metric]
    skip: tuple[re.Pattern[str], ...]

    def begin_new(self, index: int) -> None:
        """Reset the new metrics, and warn about these and about the values that nothing takes.

        Args:
            index: How many steps of the epoch were done when the run was saved.
        """
        for metric in self.new.values():
            metric.reset()
        if self.new:
            where = f"step {index + 1} of this epoch" if index else "this epoch"
            user_line.warn(
                f"fit(resume=...): these metrics are new, and count from {where}: {_join_names(self.new)}. "
                "Instead: compile(metrics=[...]) as in the run that is resumed, if that is not meant"
            )
        if self.left:
            user_line.warn(
                "fit(resume=...): nothing in this run measures these metrics of the run that is resumed, and their "
                f"values are left out: {_join_names(self.left)}. Instead: compile(metrics=[...]) and validation_data= "
                "as in that run, if they are to go on"
            )


def list_resumed_metrics(index: Index, metrics: dict[str, Metric]) -> ResumedMetrics:
    """Return which metrics of a program get values of a checkpoint, by their names.

    Args:
        index: The index of the checkpoint, whole.
        metrics: The metrics of the program, by name.
    """
    saved = _list_saved_edges(index)
    if index.nodes[index.roots[ROOT]].kind is Kind.LIST:  # as it was once: their order says which is which
        names = list(metrics)
        root: dict[str, Metric] | list[Metric] = [metrics[name] for name in names[: len(saved)]]
        left, new = list(saved)[len(names) :], {name: metrics[name] for name in names[len(saved) :]}
    else:
        root = {name: metric for name, metric in metrics.items() if name in saved}
        left = [name for name in saved if name not in metrics]
        new = {name: metric for name, metric in metrics.items() if name not in saved}
    with_values = [re.escape(escape(edge)) for edge in left if index.nodes[saved[edge]].edges]
    skip = (re.compile(f"^{ROOT}/({'|'.join(with_values)})(/|$)"),) if with_values else ()
    return ResumedMetrics(root, tuple(left), new, skip)


def lacks_some(index: Index, metrics: Collection[str]) -> bool:
    """Tell whether a checkpoint has metrics that a program does not have yet."""
    saved = _list_saved_edges(index)
    if index.nodes[index.roots[ROOT]].kind is Kind.LIST:
        return len(saved) > len(metrics)
    return any(name not in metrics for name in saved)


def _list_saved_edges(index: Index) -> dict[Edge, int]:
    return dict(index.nodes[index.roots[ROOT]].edges)


def _join_names(names: Iterable[Edge]) -> str:
    return ", ".join(repr(name) for name in names)
