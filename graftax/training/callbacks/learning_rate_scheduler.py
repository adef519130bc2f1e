"""LearningRateScheduler: sets the learning rate at the start of each epoch."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from graftax.core.errors import ArgumentError, ArgumentTypeError
from graftax.core.user_functions import check_takes, misfit
from graftax.optimizers.around import AroundOptimizer
from graftax.optimizers.optimizer import Optimizer
from graftax.training.callbacks.learning_rate import check_optimizer, require_single_rate
from graftax.training.hooks.callback import Callback, Logs


class LearningRateScheduler(Callback):
    """Sets the learning rate at the start of each epoch to the result of a function.

    A rate that changes with each step is a schedule: ``optimizers.Adam(optimizers.schedules.CosineDecay(1e-3, 1000))``.

    Args:
        schedule: ``schedule(epoch)`` or ``schedule(epoch, learning_rate)`` returns the rate; epochs are counted from 0.
        verbose: Whether to print a line for each epoch. Defaults to 0.
        optimizer: The optimizer, for a model with several that its own ``train_step`` uses. Defaults to None: that of
            ``compile``.

    Raises:
        ArgumentTypeError: ``schedule`` is not such a function, or ``optimizer`` is none.
        ArgumentError: it does not return a finite number.
        StateError: there is no optimizer, it has a schedule, or its rules name an optimizer with a rate of its own.

    Example:
        >>> import numpy as np, graftax as gx
        >>> model = gx.Sequential([gx.layers.Dense(1)])
        >>> model.compile(gx.optimizers.SGD(0.5), "mse")
        >>> halve = LearningRateScheduler(lambda epoch, rate: rate / 2)
        >>> x = np.ones((4, 2), "float32")
        >>> model.fit(x, x[:, :1], epochs=2, verbose=0, callbacks=[halve]).history["learning_rate"]
        [0.25, 0.125]
    """

    def __init__(
        self,
        schedule: Callable[..., float],
        verbose: int = 0,
        optimizer: Optimizer | AroundOptimizer | None = None,
    ) -> None:
        super().__init__()
        check_optimizer("LearningRateScheduler", optimizer)
        if not callable(schedule):
            raise ArgumentTypeError(
                f"LearningRateScheduler got {schedule!r:.60}",
                "it takes a function of the epoch",
                "LearningRateScheduler(lambda epoch: 0.1 * 0.9**epoch)",
            )
        self._takes_rate = misfit(schedule, 2) is None
        if not self._takes_rate:
            check_takes(
                "LearningRateScheduler",
                "schedule",
                schedule,
                ["epoch"],
                "lambda epoch, rate: rate / 2",
            )
        self.schedule = schedule
        self.verbose = verbose
        self.optimizer = optimizer

    def on_train_begin(self, logs: Logs | None = None) -> None:
        """Check that there is one rate, and that it can be set."""
        require_single_rate(self.model, "LearningRateScheduler", self.optimizer)

    def on_epoch_begin(self, epoch: int, logs: Logs | None = None) -> None:
        """Set the rate, except if a run is resumed within the epoch: then the saved rate is kept."""
        if self.params.get("resumes_epoch"):
            return
        optimizer = require_single_rate(self.model, "LearningRateScheduler", self.optimizer)
        rate: Any = self.schedule(epoch, float(optimizer.learning_rate)) if self._takes_rate else self.schedule(epoch)
        if isinstance(rate, bool) or not hasattr(rate, "__float__") or not math.isfinite(float(rate)):
            raise ArgumentError(
                f"the schedule gave {rate!r:.60} for epoch {epoch}",
                "a learning rate is one finite number",
                "return float(...) at its end",
            )
        optimizer.learning_rate = float(rate)
        if self.verbose:
            print(f"epoch {epoch + 1}: learning rate {float(rate):.6g}", flush=True)
