"""WandB: logs the numbers of training to Weights & Biases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graftax.core.errors import ArgumentError
from graftax.training.callbacks.every_steps import EverySteps
from graftax.training.hooks.callback import Callback, Logs
from graftax.training.optional_libraries import optional_library


class WandB(Callback):
    """Sends the logs of each epoch to a run of Weights & Biases. A resumed training continues the same run.

    Args:
        project: The project of a new run. Defaults to None: wandb chooses one.
        name: The name of the new run. Defaults to None: wandb chooses one.
        config: Hyperparameters of the run, by name. Defaults to None.
        run: A run that ``wandb.init`` returned, instead of these; the callback does not finish it. Defaults to None.
        every: Also send the numbers once in so many steps, which waits for the device; 0 for never. Defaults to 0.

    Raises:
        MissingLibraryError: wandb is not installed: ``pip install 'graftax[wandb]'``.
        ArgumentError: a run is given together with arguments for a new one.

    Example:
        >>> import types
        >>> import numpy as np, graftax as gx
        >>> run = types.SimpleNamespace(log=lambda numbers: print(sorted(numbers)), id="1")  # wandb.init(...) gives one
        >>> model = gx.Sequential([gx.layers.Dense(1)])
        >>> model.compile("sgd", "mse")
        >>> x = np.ones((4, 2), "float32")
        >>> _ = model.fit(x, x[:, :1], verbose=0, callbacks=[WandB(run=run)])
        ['epoch', 'epoch/learning_rate', 'epoch/loss', 'step']
    """

    main_only = True

    def __init__(
        self,
        project: str | None = None,
        name: str | None = None,
        config: Mapping[str, Any] | None = None,
        run: Any = None,
        every: int = 0,
    ) -> None:
        super().__init__()
        if run is not None and (project, name, config) != (None, None, None):
            raise ArgumentError(
                "WandB got run= together with project=, name= or config=",
                "the run has these already",
                "WandB(run=run), or WandB(project=..., name=..., config=...)",
            )
        if every < 0:
            raise ArgumentError(f"WandB got every={every}", "it is a number of steps", "every=100")
        self._library: Any = None
        self.project, self.name, self.config = project, name, dict(config or {})
        self.run, self._is_own, self.every = run, run is None, every
        self._due = EverySteps(every)
        self._known: str | None = None

    def on_train_begin(self, logs: Logs | None = None) -> None:
        """Import the library, if it is needed for a new run."""
        self._due.begin(self.params["step"])
        self._known = None  # each training has its run, unless its state says which one goes on
        if self._is_own:
            self._library = optional_library("wandb", "wandb", "the callback WandB")

    def _open_run(self) -> Any:
        if self.run is None and self._library is not None:
            self.run = self._library.init(
                project=self.project,
                name=self.name,
                config=self.config,
                id=self._known,
                resume="allow" if self._known else None,
            )
        return self.run

    def on_train_batch_end(self, batch: int, logs: Logs | None = None) -> None:
        """Send the numbers of the step, if it is due."""
        step = self.params["step"]
        if self._due.comes_at(step):
            numbers = {f"batch/{name}": float(value) for name, value in (logs or {}).items()}
            self._open_run().log({**numbers, "step": step})

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        """Send the numbers of the epoch."""
        numbers = {f"epoch/{name}": float(value) for name, value in (logs or {}).items()}
        self._open_run().log({**numbers, "epoch": epoch, "step": self.params["step"]})

    def on_train_end(self, logs: Logs | None = None) -> None:
        """Finish the run, if this callback started it."""
        self._finish(0)

    def on_exception(self, error: BaseException) -> None:
        """Mark the run as failed, if this callback started it."""
        self._finish(1)

    def _finish(self, exit_code: int) -> None:
        if self._is_own and self.run is not None:
            self.run.finish(exit_code=exit_code)
            self.run = None

    def get_state(self) -> dict[str, Any]:
        """Return the id of the run."""
        return {"id": self.run.id if self.run is not None else self._known}

    def set_state(self, state: dict[str, Any]) -> None:
        """Continue that run."""
        self._known = state["id"]
