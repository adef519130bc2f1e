"""The settings of a metric: the plain values that its constructor takes, such as a threshold."""

from __future__ import annotations

import inspect
from typing import Any

from graftax.reparam import settings
from graftax.variables.graph.module import Module

_OF_ALL = frozenset({"name", "dtype"})
"""Arguments of all metrics: one is no setting, and the other shows in the Variables."""


def settings_of(metric: Module) -> dict[str, Any]:
    """Return the settings of a metric by their names: numbers, texts, and lists and dicts of these.

    These are its attributes with the names of arguments of its constructor. Others may be state.

    Example:
        >>> import graftax as gx
        >>> settings_of(gx.metrics.Recall(threshold=0.25, class_id=3))
        {'threshold': 0.25, 'top_k': None, 'class_id': 3}
        >>> settings_of(gx.metrics.Mean())
        {}
    """
    names = _arguments_of(type(metric))
    return {name: value for name, value in settings.settings_of(metric).items() if name in names}


_known: dict[type[Any], frozenset[str]] = {}  # what reads signatures takes a while


def _arguments_of(kind: type[Any]) -> frozenset[str]:
    if kind not in _known:
        _known[kind] = frozenset(inspect.signature(kind.__init__).parameters) - _OF_ALL
    return _known[kind]
