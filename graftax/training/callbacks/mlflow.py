"""MLflow: logs the numbers of training to MLflow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graftax.core.errors import ArgumentError
from graftax.training.callbacks.every_steps import EverySteps
from graftax.training.hooks.callback import Callback, Logs
from graftax.training.optional_libraries import optional_library


class MLflow(Callback):
    """Writes the logs of each epoch to the active run of MLflow, or to a new one.

    ``mlflow.set_tracking_uri`` and ``mlflow.set_experiment``, or the environment, say where the run is stored.

    Args:
        run_name: The name of a new run. Defaults to None: MLflow chooses one.
        parameters: Hyperparameters of the run, by name. Defaults to None.
        every: Also write the numbers once in so many steps, which waits for the device; 0 for never. Defaults to 0.

    Raises:
        MissingLibraryError: mlflow is not installed: ``pip install 'graftax[mlflow]'``.

    Example:
        >>> callback = MLflow(run_name="width 64", parameters={"width": 64})
        >>> callback.parameters
        {'width': 64}
    """

    main_only = True

    def __init__(
        self, run_name: str | None = None, parameters: Mapping[str, Any] | None = None, every: int = 0
    ) -> None:
        super().__init__()
        if every < 0:
            raise ArgumentError(f"MLflow got every={every}", "it is a number of steps", "every=100")
        self._library: Any = None
        self.run_name, self.parameters, self.every = run_name, dict(parameters or {}), every
        self._due = EverySteps(every)
        self._known: str | None = None
        self._is_own = False

    def on_train_begin(self, logs: Logs | None = None) -> None:
        """Import the library, so that a missing one is reported now."""
        self._due.begin(self.params["step"])
        self._known = None  # each training has its run, unless its state says which one goes on
        self._library = optional_library("mlflow", "mlflow", "the callback MLflow")

    def _open_run(self) -> Any:
        library = self._library
        if library.active_run() is None:
            library.start_run(run_id=self._known, run_name=None if self._known else self.run_name)
            self._is_own = True
        run = library.active_run().info.run_id
        if self.parameters and self._known != run:
            library.log_params(self.parameters)
        self._known = run
        return library

    def on_train_batch_end(self, batch: int, logs: Logs | None = None) -> None:
        """Write the numbers of the step, if it is due."""
        step = self.params["step"]
        if self._due.comes_at(step):
            self._open_run().log_metrics({f"batch_{n}": float(v) for n, v in (logs or {}).items()}, step=step)

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        """Write the numbers of the epoch."""
        self._open_run().log_metrics({name: float(value) for name, value in (logs or {}).items()}, step=epoch)

    def on_train_end(self, logs: Logs | None = None) -> None:
        """End the run, if this callback started it."""
        self._finish("FINISHED")

    def on_exception(self, error: BaseException) -> None:
        """Mark the run as failed, if this callback started it."""
        self._finish("FAILED")

    def _finish(self, status: str) -> None:
        if self._is_own:
            self._library.end_run(status)
            self._is_own = False

    def get_state(self) -> dict[str, Any]:
        """Return the id of the run."""
        return {"id": self._known}

    def set_state(self, state: dict[str, Any]) -> None:
        """Continue that run."""
        self._known = state["id"]
