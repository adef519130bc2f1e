"""Run: the progress of `fit`, and all of its state that belongs neither to the model nor to the optimizer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from graftax.core.errors import StateError
from graftax.metrics.metric import Metric
from graftax.training.finished_run import describe_compiled
from graftax.training.hooks.callback import Callback
from graftax.training.objectives import require_objectives
from graftax.training.resumed_metrics import ROOT
from graftax.training.run_state import RunState
from graftax.training.sources.iterable_source import go_to, position_of
from graftax.training.sources.source import Source
from graftax.training.trainable_model import TrainableModel
from graftax.training.whole.differences import roots as roots_of
from graftax.variables.graph.module import Module


class Run(RunState):
    """The progress of ``fit``, including the position in the data, and in those of the validation.

    It is a root of a checkpoint, like the model and the optimizer. Together they contain everything that an exact
    resume needs.

    Args:
        model: The model.
        source: The source of the batches.
        validation: The source of the batches of the validation, or None.
        callbacks: The callbacks that may have a state.
        params: The ``params`` of the callbacks, which have the number of steps.
    """

    untracked: ClassVar[frozenset[str]] = RunState.untracked | frozenset(
        {"model", "source", "validation", "compiled", "compiled_before", "_metrics"}
    )

    model: TrainableModel
    source: Source
    validation: Source | None

    def __init__(
        self,
        model: TrainableModel,
        source: Source,
        validation: Source | None,
        callbacks: Sequence[Callback],
        params: dict[str, Any],
    ) -> None:
        super().__init__(callbacks, params)
        object.__setattr__(self, "model", model)
        object.__setattr__(self, "source", source)
        object.__setattr__(self, "validation", validation)
        self._metrics: dict[str, Metric] = {}
        self.compiled: dict[str, str] = {}  # as texts, of this program
        self.compiled_before: Mapping[str, str] = {}  # and of the run that is resumed

    def roots(self) -> dict[str, Any]:
        """Return the roots of a checkpoint of the run: model, optimizer, metrics and the run itself."""
        objectives = require_objectives(self.model)
        found: dict[str, Any] = {"model": self.model}
        if isinstance(objectives.optimizer, Module):
            found["optimizer"] = objectives.optimizer
        metrics = objectives.metrics_by_name
        if self._metrics.keys() != metrics.keys() or any(self._metrics[name] is not metrics[name] for name in metrics):
            # a new dict only for new metrics, since managers compare roots by identity
            self._metrics = metrics
        return {**found, ROOT: self._metrics, "run": self}

    def _with_settings(self) -> dict[str, Any]:
        return roots_of(self.model)

    def note_program(self) -> None:
        """Note also what the model is compiled with."""
        super().note_program()
        self.compiled = describe_compiled(self.model)

    def _position_of_validation(self) -> dict[str, Any] | None:
        return position_of(self.validation, beside=self.source) if self.validation is not None else None

    def get_state(self) -> dict[str, Any]:
        """Return the state, with the position in the data."""
        source = {"kind": type(self.source).__name__, "state": self.source.get_state(self.index, self.epoch)}
        validation = self._at.validation or self._position_of_validation()
        return {**super().get_state(), "source": source, "validation": validation, "compiled": self.compiled}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restore a result of `get_state`.

        Raises:
            StateError: the data have another kind of source now.
            DataError: the data are different, or cannot be continued.
        """
        kind = type(self.source).__name__
        if state["source"]["kind"] != kind:
            raise StateError(
                f"a run over a source of the kind {state['source']['kind']}, resumed with one of the kind {kind}",
                "which batches come next is known for the same data only",
                "the data in the form that they had",
            )
        self.source.set_state(state["source"]["state"])
        if (place := state.get("validation")) is not None and self.validation is not None:
            go_to(self.validation, place)
        self.compiled_before = state.get("compiled", {})
        super().set_state(state)
