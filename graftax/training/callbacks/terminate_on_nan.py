"""TerminateOnNaN: ends training if the loss is nan or infinite."""

from __future__ import annotations

import math

from graftax.training.hooks.callback import Callback, Logs


class TerminateOnNaN(Callback):
    """Ends training after the first step whose loss is nan or infinite.

    It reads the loss after each step, and so waits for the device each time. ``fit(check_nans=True)`` stops before
    the Variables change, and reports the layer and operation that produced the nan.

    Example:
        >>> import numpy as np, graftax as gx
        >>> model = gx.Sequential([gx.layers.Dense(1)])
        >>> model.compile(gx.optimizers.SGD(0.1), "mse")
        >>> x = np.full((4, 2), np.nan, "float32")
        >>> len(model.fit(x, x[:, :1], epochs=5, verbose=0, callbacks=[TerminateOnNaN()]).epoch)
        step 1: the loss is nan, training ends
        1
    """

    def on_train_batch_end(self, batch: int, logs: Logs | None = None) -> None:
        """Check the loss."""
        if logs is not None and "loss" in logs and not math.isfinite(logs["loss"]):
            print(f"step {self.params['step']}: the loss is {logs['loss']}, training ends", flush=True)
            self.model.stop_training = True
