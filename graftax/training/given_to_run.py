"""What was given to a run of `fit` that goes on with copies of it: changes during the run are told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graftax.training.callbacks.progress import Progress
from graftax.training.hooks.history import History
from graftax.training.sources.array_source import ArraySource
from graftax.training.sources.source import Source


class GivenToRun:
    """The dicts, lists and tables that a run of `fit` computes with copies of.

    Args:
        model: The model, whose arguments of `compile` are looked at until it is compiled again.
        source: The source of its batches, which has those of `fit`.
        validation: The source of its validation, or None.
        callbacks: The callbacks of the run. Data are only looked at if there are some that may write to them.
    """

    def __init__(self, model: Any, source: Source, validation: Source | None, callbacks: Sequence[object]) -> None:
        self._model, self._objectives = model, model._gx_objectives
        self._of_fit = [] if source.class_weights is None else [source.class_weights.given]
        may_write = not all(isinstance(one, History | Progress) for one in callbacks)
        self._data = [one.copied for one in (source, validation) if isinstance(one, ArraySource) and may_write]
        for one in self._objectives.given:
            one.note()

    def warn_if_changed(self) -> None:
        """Warn, once for each, of those that were changed during the run."""
        is_same = self._model._gx_objectives is self._objectives
        for one in [*self._of_fit, *self._data, *(self._objectives.given if is_same else ())]:
            one.warn_if_changed()
