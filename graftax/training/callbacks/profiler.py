"""Profiler: writes a trace of some steps."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path

from graftax.backend import registry
from graftax.core.errors import ArgumentError
from graftax.training.callbacks.idle import warn_of_idle
from graftax.training.hooks.callback import Callback, Logs
from graftax.training.log_files import translated_errors


class Profiler(Callback):
    """Writes a trace of some steps, with the time of each layer and operation.

    ``trace`` is the path of the file, for https://ui.perfetto.dev. TensorBoard's profiler opens the directory. With
    ``steps_per_execution=`` the trace starts with the next run of steps and ends with the run of the last one.

    Args:
        directory: The directory for the trace. Defaults to ``"profile"``.
        first_step: The first traced step of the run, counted from 1; the steps before it compile. Defaults to 3.
        steps: The number of steps. Defaults to 5.

    Raises:
        ArgumentError: a number is below 1.
        BackendCapabilityError: the backend does not compile functions.
        LogError: the trace cannot be written.

    Example:
        >>> profiler = Profiler("profile", first_step=10, steps=2)
        >>> profiler.trace is None
        True
    """

    def __init__(self, directory: str | os.PathLike[str] = "profile", first_step: int = 3, steps: int = 5) -> None:
        super().__init__()
        if first_step < 1 or steps < 1:
            raise ArgumentError(
                f"Profiler got first_step={first_step}, steps={steps}", "steps are counted from 1 on", "steps=5"
            )
        self.directory = Path(directory)
        self.first_step, self.steps = first_step, steps
        self.trace: Path | None = None
        self._open = ExitStack()
        self._begins = self._ends = 0
        self._is_open = self._was_open = False

    def on_train_begin(self, logs: Logs | None = None) -> None:
        """Compute the numbers of the first and last step."""
        self._begins = self.params["step"] + self.first_step - 1
        self._was_open = False

    def on_train_batch_begin(self, batch: int, logs: Logs | None = None) -> None:
        """Start the trace at the first step."""
        if not self._was_open and self._begins <= self.params["step"]:
            with translated_errors("Profiler", self.directory):
                self.directory.mkdir(parents=True, exist_ok=True)
                self._open.enter_context(registry.current().compiling.profile(str(self.directory)))
            self._is_open = self._was_open = True
            self._ends = self.params["step"] + self.steps

    def on_train_batch_end(self, batch: int, logs: Logs | None = None) -> None:
        """End the trace after the last step has been computed."""
        if self._is_open and self.params["step"] >= self._ends:
            dict(logs or {})  # waits for the step
            self._close()

    def on_train_end(self, logs: Logs | None = None) -> None:
        """End the trace early; warn if it has not begun."""
        self._close()
        steps = self.params["step"] - (self._begins - self.first_step + 1)
        if not self._was_open and steps > 0:
            warn_of_idle(
                f"Profiler(first_step={self.first_step})",
                f"the run has ended after {steps} steps, and there is no trace",
                f"first_step={max(steps - self.steps, 1)}, or more steps",
            )

    def on_exception(self, error: BaseException) -> None:
        """End the trace early."""
        self._close()

    def _close(self) -> None:
        if self._is_open:
            self._is_open = False
            with translated_errors("Profiler", self.directory):
                self._open.close()
            found = sorted(self.directory.rglob("perfetto_trace.json.gz"), key=lambda path: path.stat().st_mtime)
            self.trace = found[-1] if found else None
