"""The dicts and lists that were given to a run of `fit`, which goes on with copies: changes during the run are told."""

from __future__ import annotations

from typing import Any

from graftax.training.sources.source import Source


class GivenToRun:
    """The dicts and lists that a run of `fit` computes with copies of.

    Args:
        model: The model, whose arguments of `compile` are looked at until it is compiled again.
        source: The source of its batches, which has those of `fit`.
    """

    def __init__(self, model: Any, source: Source) -> None:
        self._model, self._objectives = model, model._gx_objectives
        self._of_fit = [] if source.class_weights is None else [source.class_weights.given]
        for one in self._objectives.given:
            one.note()

    def warn_if_changed(self) -> None:
        """Warn, once for each, of those that were changed during the run."""
        is_same = self._model._gx_objectives is self._objectives
        for one in [*self._of_fit, *(self._objectives.given if is_same else ())]:
            one.warn_if_changed()
