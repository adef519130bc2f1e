"""Unique names for shown numbers, and the check that no metric is used for two of them."""

from __future__ import annotations

from collections.abc import Container
from itertools import chain, count
from typing import Any

from graftax.core.errors import ArgumentError
from graftax.metrics.metric import Metric


def free_name(where: str, separator: str, name: str, taken: Container[str]) -> str:
    """Return a unique name: ``where + name``, with ``separator`` between if that is taken, then with a number.

    Example:
        >>> [free_name("", "also_", "mae", taken) for taken in ((), ("mae",), ("mae", "also_mae"))]
        ['mae', 'also_mae', 'mae_3']
    """
    names = chain((f"{where}{name}", f"{where}{separator}{name}"), (f"{where}{name}_{n}" for n in count(3)))
    return next(one for one in names if one not in taken)


def require_apart(metrics: list[Any]) -> None:
    """Raise if one metric object is used twice, since its state would mix both.

    Raises:
        ArgumentError: a metric is given twice.
    """
    kept = [one for one in metrics if isinstance(one, Metric)]
    for number, metric in enumerate(kept):
        if any(metric is other for other in kept[:number]):
            raise ArgumentError(
                f"{metric!r} is given twice",
                "a metric keeps one sum, which would be that of both outputs, or with and without sample weights",
                f"another {type(metric).__name__}(...) for each",
            )
