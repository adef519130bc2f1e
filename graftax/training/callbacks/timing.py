"""Timing: measures the time of steps and epochs."""

from __future__ import annotations

import time

from graftax.training.hooks.callback import Callback, Logs
from graftax.training.hooks.ended import STEPS_ENDED, end_of


class Timing(Callback):
    """Adds the time of each epoch and the number of steps per second to its logs.

    ``seconds`` is the time of the epoch with its validation; ``steps_per_second`` is for training only. The first
    step of a run compiles, so the rate does not include it, if there are others; ``first_step_seconds`` is its time.
    With ``steps_per_execution=`` so many steps come first. The end of the first step, and that of an epoch, is when the
    device has done it.

    Example:
        >>> import numpy as np, graftax as gx
        >>> model = gx.Sequential([gx.layers.Dense(1)])
        >>> model.compile(gx.optimizers.SGD(0.1), "mse")
        >>> x = np.ones((4, 2), "float32")
        >>> history = model.fit(x, x[:, :1], epochs=2, verbose=0, callbacks=[Timing()]).history
        >>> sorted(history)
        ['learning_rate', 'loss', 'seconds', 'steps_per_second']
    """

    def __init__(self) -> None:
        super().__init__()
        self.first_step_seconds: float | None = None
        self._epoch_began = self._step_began = self._counted_from = 0.0
        self._before = self._first_steps = 0
        self._logs: Logs | None = None

    def on_train_begin(self, logs: Logs | None = None) -> None:
        """Reset the times of earlier runs."""
        self.first_step_seconds = None

    def on_epoch_begin(self, epoch: int, logs: Logs | None = None) -> None:
        """Start to measure the time."""
        self._epoch_began = self._counted_from = time.perf_counter()
        self._before = self.params["step"]
        self._logs = None

    def on_train_batch_begin(self, batch: int, logs: Logs | None = None) -> None:
        """Record the start time of the first step."""
        if self.first_step_seconds is None:
            self._step_began, self._before = time.perf_counter(), self.params["step"]

    def on_train_batch_end(self, batch: int, logs: Logs | None = None) -> None:
        """Wait for the first step, and record its time."""
        self._logs = logs
        if self.first_step_seconds is None:
            now = end_of(logs)
            self.first_step_seconds = now - self._step_began
            self._first_steps = self.params["step"] - self._before
            self._counted_from, self._before = now, self.params["step"]

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        """Write both numbers to the logs."""
        ended: float = self.params.get(STEPS_ENDED) or end_of(self._logs)
        steps, seconds = self.params["step"] - self._before, ended - self._counted_from
        if steps == 0 and self.first_step_seconds is not None:  # the only run of steps is the first one, which compiles
            steps, seconds = self._first_steps, self.first_step_seconds
        if logs is not None:
            logs["seconds"] = time.perf_counter() - self._epoch_began
            logs["steps_per_second"] = steps / max(seconds, 1e-9)
