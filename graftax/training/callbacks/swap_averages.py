"""SwapAverages: evaluates with the averaged weights of the optimizer."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack
from typing import Any

from graftax.core.errors import StateError
from graftax.optimizers.around import AroundOptimizer
from graftax.optimizers.optimizer import Optimizer
from graftax.training.callbacks.idle import epochs_to_run, warn_of_idle
from graftax.training.callbacks.learning_rate import (
    check_optimizer,
    innermost_optimizer,
    optimizer_of,
    without_optimizer,
)
from graftax.training.hooks.callback import Callback, Logs


class SwapAverages(Callback):
    """Replaces the weights by their averages for each evaluation, and permanently when training ends.

    The optimizer computes the averages: ``Adam(1e-3, ema_momentum=0.999)``, or an optimizer whose update rule averages.
    Training continues with the original weights.

    Beside ``EarlyStopping(restore_best_weights=True)``, before or after it in the list, the model has the averages of
    the best epoch at the end. A checkpoint has the original weights, from which training goes on, and the averages with
    the optimizer: after ``gx.Checkpoint(model=model, optimizer=model.optimizer).restore(path)``,
    ``model.optimizer.assign_averages()`` gives what was evaluated.

    Args:
        at_end: Whether the model keeps the averages when training ends; if not, `EarlyStopping` restores original
            weights, too. Defaults to True.
        optimizer: The optimizer, for a model with several that its own ``train_step`` uses. Defaults to None: that of
            ``compile``.

    Raises:
        ArgumentTypeError: ``optimizer`` is none.
        StateError: there is no optimizer, or it keeps no averages.

    Example:
        >>> import numpy as np, graftax as gx
        >>> model = gx.Sequential([gx.layers.Dense(1)])
        >>> model.compile(gx.optimizers.SGD(0.1, ema_momentum=0.9), "mse")
        >>> x = np.ones((4, 2), "float32")
        >>> y = x[:, :1]
        >>> _ = model.fit(x, y, epochs=2, validation_data=(x, y), verbose=0, callbacks=[SwapAverages()])
    """

    def __init__(self, at_end: bool = True, optimizer: Optimizer | AroundOptimizer | None = None) -> None:
        super().__init__()
        check_optimizer("SwapAverages", optimizer)
        self.optimizer = optimizer
        self.at_end = at_end
        self._swapped = ExitStack()
        self._is_assigned = False

    def _optimizer(self) -> Optimizer | AroundOptimizer:
        optimizer = self.optimizer or optimizer_of(self.model)
        if optimizer is None:
            raise without_optimizer("SwapAverages")
        is_known = isinstance(optimizer, Optimizer | AroundOptimizer)
        if not is_known or not innermost_optimizer(optimizer)._gx_keeps_averages():
            raise StateError(
                f"SwapAverages with the optimizer {type(optimizer).__name__}",
                "it keeps no averages of the weights",
                "graftax.optimizers.Adam(1e-3, ema_momentum=0.999)",
            )
        return optimizer

    def on_train_begin(self, logs: Logs | None = None) -> None:
        """Check that the optimizer keeps averages, and warn if nothing is evaluated with them."""
        self._optimizer()
        if not self.at_end and not self.params.get("validates", True) and epochs_to_run(self.params) is not None:
            warn_of_idle(
                "SwapAverages(at_end=False)",
                "the averages are those of validations, and nothing is validated",
                "fit(..., validation_data=(x_val, y_val)), or SwapAverages(), which leaves them to the model",
            )
        self._is_assigned = False
        if self.at_end:
            self.params.setdefault(_AT_END, []).append(self)

    def on_test_begin(self, logs: Logs | None = None) -> None:
        """Replace the weights by their averages."""
        averages: AbstractContextManager[None] = self._optimizer().averaged()
        self._swapped.enter_context(averages)

    def on_test_end(self, logs: Logs | None = None) -> None:
        """Restore the original weights."""
        self._swapped.close()

    def on_exception(self, error: BaseException) -> None:
        """Restore the original weights."""
        self._swapped.close()

    def on_train_end(self, logs: Logs | None = None) -> None:
        """Assign the averages to the model."""
        if self.at_end and self.params["step"] > 0 and not self._is_assigned:
            self._optimizer().assign_averages()
            self._is_assigned = True

    def averaged(self) -> AbstractContextManager[None]:
        """Give the model the averages for a block, as `Optimizer.averaged` does."""
        return self._optimizer().averaged()


_AT_END = "averages at the end"


def averages_at_end(params: Mapping[str, Any]) -> list[SwapAverages]:
    """Return the callbacks that leave the model its averages at the end, one for each optimizer.

    Args:
        params: What the callbacks of the run share.
    """
    found: list[SwapAverages] = params.get(_AT_END, [])
    return found
