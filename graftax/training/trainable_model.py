"""TrainableModel: the interface of models for the training loops."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from graftax.core import tree
from graftax.core.checked_calls import check_calls
from graftax.core.undefined import undefined_error
from graftax.layers.table_columns import KnowsColumns
from graftax.metrics.metric import Metric
from graftax.training.compiled_loss import COMPILED, refuse_late, refuse_setting
from graftax.training.executions import CompiledSteps
from graftax.training.hooks.callback import Callback
from graftax.training.hooks.callback_list import CallbackList
from graftax.training.hooks.history import History
from graftax.training.objectives import Objectives
from graftax.training.unused_targets import STEPS
from graftax.training.whole.saving_mixin import SavingMixin
from graftax.variables.graph.module import Module
from graftax.variables.graph.reserved import LOSS


class TrainableModel(SavingMixin):
    """A layer with the steps and metrics that the loops of fit, evaluate and predict need, such as `Model`."""

    stop_training = False
    """Whether training ends after the present step."""
    compiled_loss_weights: dict[str, Any] | list[Any]
    """The factors on the losses, where `compile` was given some: a copy, which may be changed."""
    _gx_history: History | None = None
    _gx_objectives: Objectives | None = None
    _gx_functions: CompiledSteps | None = None
    _gx_run_eagerly = False
    _gx_requires_columns = True
    _gx_never_called: frozenset[int] = frozenset()

    @classmethod
    def _gx_prepare_class(cls) -> None:
        super()._gx_prepare_class()
        check_calls(cls, *STEPS, "reset_metrics", "predict_step")

    def _gx_takers(self) -> list[KnowsColumns]:
        found = [] if self._gx_graph is None else [self.layers[number] for number in self._gx_graph.takers()]
        return [part for part in found if isinstance(part, KnowsColumns)]

    def _gx_called_objects(self) -> list[object]:
        objectives = self._gx_objectives
        if objectives is None:
            return []
        return [objectives.optimizer, *tree.flatten(list(objectives.given_arguments().values()))]

    @property
    def steps_per_execution(self) -> int:
        """Return the number of batches that one run trains on."""
        raise undefined_error(self, "steps_per_execution")

    @property
    def metrics(self) -> list[Metric]:
        """Return all metrics."""
        raise undefined_error(self, "metrics")

    def reset_metrics(self) -> None:
        """Reset all metrics."""
        raise undefined_error(self, "reset_metrics()")

    def _gx_given(self, name: str, value: object) -> Any:
        if self._gx_objectives is not None and name in ("steps_per_execution", "jit_compile"):
            refuse_setting(self, name, value)
        if name in COMPILED and self._gx_objectives is not None and not hasattr(self, name):
            refuse_late(self, name, value, self._gx_objectives.given_arguments())
        return super()._gx_given(name, value)

    def _gx_may_get(self, name: str) -> bool:
        return name == LOSS and self._gx_objectives is None  # values wait for `compile`

    def _gx_has_own(self, step: str) -> bool:
        """Tell whether a step, by name, is one of the user's."""
        raise undefined_error(self, "_gx_has_own(step)")

    @property
    def _gx_own_predict_step(self) -> Callable[[object], Any] | None:
        """Return a `predict_step` of the user's, which an export computes in place of the call."""
        return getattr(self, "predict_step") if self._gx_has_own("predict_step") else None  # noqa: B009 - of a subclass

    def _gx_beside(self) -> Mapping[str, Module]:
        """Return the optimizer, which is saved as a root of its own: its slots may belong to other models, too."""
        optimizer = self._gx_objectives.optimizer if self._gx_objectives is not None else None
        return {"optimizer": optimizer} if isinstance(optimizer, Module) else {}

    def _gx_compiled_step(self, step: str, check_nans: bool = False) -> Callable[..., Any]:
        """Return a step by name, compiled if possible; with ``check_nans`` it raises for values that are not finite."""
        raise undefined_error(self, "_gx_compiled_step(step, check_nans)")

    def _gx_hooks(self, callbacks: Sequence[Callback], params: dict[str, Any]) -> CallbackList:
        """Return the callbacks for a loop, after setting their model and ``params``."""
        raise undefined_error(self, "_gx_hooks(callbacks, params)")
