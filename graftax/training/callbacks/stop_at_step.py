"""StopAtStep: ends training after a number of steps."""

from __future__ import annotations

from graftax.core.errors import ArgumentError
from graftax.training.hooks.callback import Callback, Logs


class StopAtStep(Callback):
    """Ends training after a number of steps, including those of earlier runs.

    Args:
        last_step: The step after which training ends. A run that is resumed at that step takes no further step.
        num_steps: The number of steps of this run. Give exactly one of the two.

    Raises:
        ArgumentError: both or none are given, or a number is not above 0.

    Example:
        >>> import numpy as np, graftax as gx
        >>> model = gx.Sequential([gx.layers.Dense(1)])
        >>> model.compile(gx.optimizers.SGD(0.1), "mse")
        >>> x = np.ones((8, 2), "float32")
        >>> _ = model.fit(x, x[:, :1], batch_size=2, epochs=9, verbose=0, callbacks=[StopAtStep(last_step=5)])
        >>> int(model.optimizer.iterations)
        5
    """

    def __init__(self, last_step: int | None = None, num_steps: int | None = None) -> None:
        super().__init__()
        given = last_step if num_steps is None else num_steps
        if (last_step is None) == (num_steps is None) or given is None or given < 1:
            raise ArgumentError(
                f"StopAtStep got last_step={last_step}, num_steps={num_steps}",
                "exactly one of them is given, and steps are counted from 1",
                "StopAtStep(last_step=1000)",
            )
        self.last_step = last_step
        self.num_steps = num_steps
        self._end = given

    def on_train_begin(self, logs: Logs | None = None) -> None:
        """Compute the last step, and end training at once if it has been reached."""
        self._end = self.last_step if self.last_step is not None else self.params["step"] + (self.num_steps or 0)
        self.params["last_step"] = min(self._end, self.params.get("last_step", self._end))  # none is run beyond it
        self._look()

    def on_train_batch_end(self, batch: int, logs: Logs | None = None) -> None:
        """End training at the last step."""
        self._look()

    def _look(self) -> None:
        if self.params["step"] >= self._end:
            self.model.stop_training = True
