"""ReduceLROnPlateau: lowers the learning rate once a number no longer improves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graftax.core.errors import ArgumentError
from graftax.core.of_constructor import OfConstructor
from graftax.optimizers.around import AroundOptimizer
from graftax.optimizers.optimizer import Optimizer
from graftax.training.callbacks.idle import epochs_to_run, warn_of_idle
from graftax.training.callbacks.learning_rate import check_optimizer, require_settable_rates
from graftax.training.callbacks.monitor import Monitor, Monitored
from graftax.training.hooks.callback import Callback, Logs


class ReduceLROnPlateau(Callback):
    """Multiplies the learning rate by a factor once a number of the logs has not improved for some epochs.

    Rates of optimizers that rules name are multiplied, too; the logs have each, as ``learning_rate/0``.

    Args:
        monitor: The name of the number. After its first appearance, epochs without it are ignored. Defaults to
            ``"val_loss"``.
        factor: The factor for the learning rate, between 0 and 1. Defaults to 0.1.
        patience: The number of epochs without improvement that are allowed. Defaults to 10.
        verbose: Whether to print a line for each change. Defaults to 0.
        mode: ``"min"``, ``"max"``, or ``"auto"`` to infer it from the name. Defaults to ``"auto"``.
        min_delta: The change that an improvement must exceed. Defaults to 0.0001.
        cooldown: The number of epochs after a change during which patience does not count. Defaults to 0.
        min_lr: The lowest learning rate; a rate that is there, or below, is left as it is. Defaults to 0.
        optimizer: The optimizer, for a model with several that its own ``train_step`` uses. Defaults to None: that of
            ``compile``.

    Raises:
        ArgumentError: the factor is not between 0 and 1, or the direction cannot be inferred.
        ArgumentTypeError: ``optimizer`` is none.
        StateError: there is no optimizer; or it, or one that its rules name, has a schedule, which sets the rate.
        DataError: the number is not in the logs of the first epoch.

    Example:
        >>> import numpy as np, graftax as gx
        >>> model = gx.Sequential([gx.layers.Dense(1, kernel_initializer="zeros")])
        >>> model.compile(gx.optimizers.SGD(0.0), "mse")
        >>> x = np.ones((4, 2), "float32")
        >>> model.optimizer.learning_rate = 1e-20
        >>> slower = ReduceLROnPlateau("loss", factor=0.5, patience=1)
        >>> rates = model.fit(x, x[:, :1], epochs=3, verbose=0, callbacks=[slower]).history["learning_rate"]
        >>> [round(rate / rates[0], 2) for rate in rates]
        [1.0, 1.0, 0.5]
    """

    monitor = Monitored[Monitor]("ReduceLROnPlateau", lambda callback: callback._start_over())
    mode = OfConstructor("graftax.callbacks.ReduceLROnPlateau(..., mode={value}), a new callback")
    min_delta = OfConstructor("graftax.callbacks.ReduceLROnPlateau(..., min_delta={value}), a new callback")

    def __init__(
        self,
        monitor: str = "val_loss",
        factor: float = 0.1,
        patience: int = 10,
        verbose: int = 0,
        mode: str = "auto",
        min_delta: float = 1e-4,
        cooldown: int = 0,
        min_lr: float = 0.0,
        optimizer: Optimizer | AroundOptimizer | None = None,
    ) -> None:
        super().__init__()
        check_optimizer("ReduceLROnPlateau", optimizer)
        if not 0 < factor < 1:
            raise ArgumentError(
                f"ReduceLROnPlateau got factor={factor}",
                "it lies between 0 and 1, so that the rate becomes lower",
                "factor=0.5",
            )
        if patience < 0 or cooldown < 0 or min_lr < 0:
            raise ArgumentError(
                f"ReduceLROnPlateau got patience={patience}, cooldown={cooldown}, min_lr={min_lr}",
                "none of these can be negative",
                "patience=10, cooldown=0, min_lr=0.0",
            )
        self.monitor = Monitor("ReduceLROnPlateau", monitor, mode, min_delta)
        self.factor = factor
        self.patience = patience
        self.verbose = verbose
        self.cooldown = cooldown
        self.min_lr = min_lr
        self.optimizer = optimizer
        self._start_over()

    def _start_over(self) -> None:
        self.best = self.monitor.worst_value
        self.wait = 0
        self.cooldown_counter = 0

    def on_train_begin(self, logs: Logs | None = None) -> None:
        """Reset the counters, and warn if the rate is the lowest from the start."""
        self._warn_if_idle(self._rates())  # which raises now rather than at the first plateau
        self.monitor.seen = False
        self._start_over()

    def _warn_if_idle(self, found: Mapping[str, Optimizer]) -> None:
        epochs, rates = epochs_to_run(self.params), [float(one.learning_rate) for one in found.values()]
        if epochs is not None and self.params["step"] == 0 and all(0 < rate <= self.min_lr for rate in rates):
            warn_of_idle(
                f"ReduceLROnPlateau(min_lr={self.min_lr:g})",
                f"the learning rate is {max(rates):.6g} from the start, and does not get below min_lr",
                f"min_lr={max(rates) / 100:g}, or a higher learning rate of the optimizer",
            )

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        """Check the number, and lower the rate if it has not improved for too long."""
        current = self.monitor.read(logs, self.params)
        if current is None:
            return
        is_cooling = self.cooldown_counter > 0
        if is_cooling:
            self.cooldown_counter -= 1
            self.wait = 0
        if self.monitor.is_better(current, self.best):
            self.best = current
            self.wait = 0
        elif self.cooldown_counter == 0:
            self.wait += 1
            if self.wait >= self.patience:
                self._reduce(epoch)

    def _rates(self) -> dict[str, Optimizer]:
        return require_settable_rates(self.model, "ReduceLROnPlateau", self.optimizer)

    def _reduce(self, epoch: int) -> None:
        found = self._rates()
        rates = {name: float(one.learning_rate) for name, one in found.items()}
        # a rate that was set to the lowest one may be above it by the rounding of its dtype
        higher = {name: found[name] for name, rate in rates.items() if rate > self.min_lr * (1 + 1e-6)}
        if not higher:
            return
        for name, optimizer in higher.items():
            old = float(optimizer.learning_rate)
            new = max(old * self.factor, self.min_lr)
            optimizer.learning_rate = new
            if self.verbose:
                print(f"epoch {epoch + 1}: {name.replace('_', ' ')} {old:.6g} -> {new:.6g}", flush=True)
        self.cooldown_counter = self.cooldown
        self.wait = 0

    def get_state(self) -> dict[str, Any]:
        """Return the best value so far, and the number of epochs since."""
        return {"best": self.best, "wait": self.wait, "cooldown_counter": self.cooldown_counter}

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore the best value and the number of epochs since."""
        self.best, self.wait = float(state["best"]), state["wait"]
        self.cooldown_counter = state["cooldown_counter"]
        self.monitor.seen = self.best != self.monitor.worst_value
