"""EarlyStopping: ends training once a number no longer improves."""

from __future__ import annotations

import logging
from contextlib import ExitStack
from typing import Any

import numpy as np

from graftax.core.errors import ArgumentError
from graftax.core.of_constructor import OfConstructor
from graftax.training.callbacks.idle import epochs_to_run, warn_of_idle
from graftax.training.callbacks.monitor import Monitor, Monitored
from graftax.training.callbacks.swap_averages import averages_at_end
from graftax.training.hooks.callback import Callback, Logs
from graftax.training.spread import gather_output
from graftax.training.weights import (
    expression_settings,
    restore_expression_settings,
    restore_weights,
    weights_of,
)

log = logging.getLogger("graftax")


class EarlyStopping(Callback):
    """Ends training once a number of the logs has not improved for some epochs.

    ``stopped_epoch`` is the epoch after which it ended training, or None. ``best`` is the best value so far and
    ``best_epoch`` its epoch. A run that it ended stays ended when it is resumed, unless it has more patience then.

    Args:
        monitor: The name of the number. After its first appearance, epochs without it are ignored. Defaults to
            ``"val_loss"``.
        min_delta: The change that an improvement must exceed. Defaults to 0.
        patience: The number of epochs without improvement that are allowed. Defaults to 0.
        verbose: Whether to print a line when training ends. Defaults to 0.
        mode: ``"min"``, ``"max"``, or ``"auto"`` to infer it from the name. Defaults to ``"auto"``.
        baseline: A value that must be improved on; epochs before that count as epochs without improvement. Defaults to
            None.
        restore_best_weights: Whether to restore the weights of the best epoch when training ends, early or not, with
            the settings of expressions and the adapters in use; beside `SwapAverages`, its averages. Defaults to False.
        start_from_epoch: The first monitored epoch, counted from 0. Defaults to 0.

    Raises:
        ArgumentError: the direction cannot be inferred, or a number is invalid.
        DataError: the number is not in the logs of the first monitored epoch.

    Example:
        >>> import numpy as np, graftax as gx
        >>> model = gx.Sequential([gx.layers.Dense(1)])
        >>> model.compile(gx.optimizers.SGD(0.0), "mse")
        >>> x = np.ones((4, 2), "float32")
        >>> len(model.fit(x, x[:, :1], epochs=9, verbose=0, callbacks=[EarlyStopping("loss", patience=2)]).epoch)
        3
    """

    monitor = Monitored[Monitor]("EarlyStopping", lambda callback: callback._start_over())
    mode = OfConstructor("graftax.callbacks.EarlyStopping(..., mode={value}), a new callback")
    min_delta = OfConstructor("graftax.callbacks.EarlyStopping(..., min_delta={value}), a new callback")

    def __init__(
        self,
        monitor: str = "val_loss",
        min_delta: float = 0.0,
        patience: int = 0,
        verbose: int = 0,
        mode: str = "auto",
        baseline: float | None = None,
        restore_best_weights: bool = False,
        start_from_epoch: int = 0,
    ) -> None:
        super().__init__()
        if patience < 0 or start_from_epoch < 0:
            raise ArgumentError(
                f"EarlyStopping got patience={patience}, start_from_epoch={start_from_epoch}",
                "epochs are counted from 0",
                "patience=5",
            )
        self.monitor = Monitor("EarlyStopping", monitor, mode, min_delta)
        self.patience = patience
        self.verbose = verbose
        self.baseline = baseline
        self.restore_best_weights = restore_best_weights
        self.start_from_epoch = start_from_epoch
        self.best_weights: list[np.ndarray[Any, Any]] | None = None
        self._best_settings: dict[str, dict[str, Any]] = {}
        self._is_told = False
        self._start_over()

    def _start_over(self) -> None:
        self.best = self.monitor.worst_value
        self.best_epoch: int | None = None
        self.wait = 0
        self.stopped_epoch: int | None = None
        self.best_weights = None
        self._best_settings = {}

    def on_train_begin(self, logs: Logs | None = None) -> None:
        """Reset the counters, and warn if no epoch is looked at."""
        self._warn_if_idle()
        self.monitor.seen = False
        self._start_over()

    def _warn_if_idle(self) -> None:
        """Warn if no epoch is looked at. Of too few epochs for the patience nothing is told: short runs are trials."""
        epochs, start = epochs_to_run(self.params), self.start_from_epoch
        if epochs is not None and start >= epochs:
            warn_of_idle(
                f"EarlyStopping(start_from_epoch={start})",
                f"epochs are counted from 0, and with epochs={epochs} none is looked at",
                f"start_from_epoch={epochs // 2}, or epochs={start + 10}",
            )

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        """Check the number, and end training if it has not improved for too long."""
        if epoch < self.start_from_epoch or (current := self.monitor.read(logs, self.params)) is None:
            return
        self.wait += 1
        is_better = self.monitor.is_better(current, self.best)
        if is_better or self.best_epoch is None:
            self.best_epoch = epoch
            if self.restore_best_weights:
                with ExitStack() as averaged:
                    for averages in averages_at_end(self.params):
                        averaged.enter_context(averages.averaged())
                    self.best_weights = [np.array(gather_output(v._gx_stored)) for v in weights_of(self.model)]
                self._best_settings = expression_settings(self.model)
        if is_better:
            self.best = current
            if self.baseline is None or self.monitor.is_better(current, self.baseline):
                self.wait = 0
            return
        if self.wait >= self.patience and epoch > 0:
            self.stopped_epoch = epoch
            self.model.stop_training = True

    def on_train_end(self, logs: Logs | None = None) -> None:
        """Print that training ended early, and restore the best weights."""
        self._is_told = False
        if self.stopped_epoch is not None and self.verbose:
            print(f"epoch {self.stopped_epoch + 1}: early stopping", flush=True)
        if self.restore_best_weights and self.best_weights is not None and self.best_epoch is not None:
            if self.verbose:
                print(f"the weights are those of epoch {self.best_epoch + 1}, which was best", flush=True)
            for averages in averages_at_end(self.params):
                averages.on_train_end()  # which would replace them otherwise, if it comes later
            restore_weights(self.model, self.best_weights)
            restore_expression_settings(self.model, self._best_settings)

    def get_state(self) -> dict[str, Any]:
        """Return the best value so far, the number of epochs since, and the weights of that epoch."""
        return {
            "best": self.best,
            "best_epoch": self.best_epoch,
            "wait": self.wait,
            "stopped_epoch": self.stopped_epoch,
            "best_weights": self.best_weights,
            "best_settings": self._best_settings,
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore the best value and the number of epochs since."""
        self.best, self.best_epoch, self.wait = float(state["best"]), state["best_epoch"], state["wait"]
        self.stopped_epoch, self.best_weights = state["stopped_epoch"], state["best_weights"]
        self._best_settings = state.get("best_settings", {})  # not in checkpoints of earlier versions
        self.monitor.seen = self.best_epoch is not None
        if self.stopped_epoch is None:
            return
        if self.wait < self.patience:  # more of it than the run that was stopped
            self.stopped_epoch = None
            return
        self.model.stop_training = True
        if self._is_told:  # a resumed run sets states before `on_train_begin`, and after it
            return
        self._is_told = True
        log.info(
            "EarlyStopping: nothing left to do: epoch %s ended the run that is resumed; patience=%s or more goes on",
            self.stopped_epoch + 1,
            self.wait + 1,
        )
