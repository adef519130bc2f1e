"""Trained: a model as the loops see it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from graftax.core.undefined import undefined
from graftax.metrics.metric import Metric
from graftax.training.callbacks.callback import Callback
from graftax.training.callbacks.callback_list import CallbackList
from graftax.training.callbacks.history import History
from graftax.training.executions import CompiledSteps
from graftax.training.objectives import Objectives
from graftax.training.whole.saved import Saved
from graftax.variables.graph.module import Module


class Trained(Saved):
    """A layer with steps and metrics, as the loops behind fit, evaluate and predict need it; `Model` is one."""

    stop_training = False
    """Whether training ends after the present step."""
    _gx_history: History | None = None
    _gx_objectives: Objectives | None = None
    _gx_functions: CompiledSteps | None = None
    _gx_run_eagerly = False

    @property
    def steps_per_execution(self) -> int:
        """Return how many batches are trained on in one run."""
        raise undefined(self, "steps_per_execution")

    @property
    def metrics(self) -> list[Metric]:
        """Return all that is measured."""
        raise undefined(self, "metrics")

    def reset_metrics(self) -> None:
        """Start all metrics over."""
        raise undefined(self, "reset_metrics()")

    def _gx_has_own(self, step: str) -> bool:
        """Tell whether a step, by name, is one of the user's."""
        raise undefined(self, "_gx_has_own(step)")

    def _gx_beside(self) -> Mapping[str, Module]:
        """Return the optimizer: its slots are those of whatever it trains, so that it is saved as a root of its own."""
        optimizer = self._gx_objectives.optimizer if self._gx_objectives is not None else None
        return {"optimizer": optimizer} if isinstance(optimizer, Module) else {}

    def _gx_compiled_step(self, step: str, check_nans: bool = False) -> Callable[..., Any]:
        """Return a step by name, compiled where that can be; with ``check_nans`` it raises for what is not finite."""
        raise undefined(self, "_gx_compiled_step(step, check_nans)")

    def _gx_hooks(self, callbacks: Sequence[Callback], params: dict[str, Any]) -> CallbackList:
        """Return the callbacks as a loop runs them, each told of this model and of what the loop is to do."""
        raise undefined(self, "_gx_hooks(callbacks, params)")
