"""Progress: a bar on a terminal, one line an epoch elsewhere."""

from __future__ import annotations

import importlib
import sys
import time
from typing import Any

from graftax.training.arguments import verbosity
from graftax.training.callbacks.callback import Callback, Logs


class Progress(Callback):
    """Shows how training, evaluation or prediction goes.

    The bar needs the package rich and a terminal; without either there is one line for each epoch. Numbers are
    fetched from the device at most ten times a second.

    Args:
        verbose: ``"auto"``: a bar on a terminal, else lines. 1: a bar if rich is there. 2: lines. 0: nothing.

    Example:
        >>> bar = Progress(verbose=2)
    """

    def __init__(self, verbose: int | str = "auto") -> None:
        self._verbose = verbosity(verbose)
        self._bar: Any = None
        self._task: Any = None
        self._due = 0.0
        self._started = 0.0

    def on_train_begin(self, logs: Logs | None = None) -> None:
        """Open the bar."""
        self._open()

    def on_epoch_begin(self, epoch: int, logs: Logs | None = None) -> None:
        """Start a row for the epoch."""
        self._started = time.perf_counter()
        self._row(f"epoch {epoch + 1}/{self.params['epochs']}")

    def on_train_batch_end(self, batch: int, logs: Logs | None = None) -> None:
        """Move the bar."""
        self._move(batch, logs)

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        """Finish the row, or print the line."""
        seconds = time.perf_counter() - self._started
        if self._bar is not None:
            self._bar.update(self._task, numbers=_format(logs), completed=self.params["steps"])
            self._bar.stop_task(self._task)
        elif self._verbose in (1, 2, "auto"):
            print(f"epoch {epoch + 1}/{self.params['epochs']}  {seconds:.2f}s  {_format(logs)}", flush=True)

    def on_train_end(self, logs: Logs | None = None) -> None:
        """Close the bar."""
        self.close()

    def on_test_begin(self, logs: Logs | None = None) -> None:
        """Open a bar, unless this is the validation of an epoch."""
        if self._bar is None and not self.params.get("validating"):
            self._open()
            self._row("evaluate")

    def on_test_batch_end(self, batch: int, logs: Logs | None = None) -> None:
        """Move the bar."""
        if not self.params.get("validating"):
            self._move(batch, logs)

    def on_test_end(self, logs: Logs | None = None) -> None:
        """Close the bar, or print the line."""
        if self.params.get("validating"):
            return
        if self._bar is not None:
            self._bar.update(self._task, numbers=_format(logs))
            self.close()
        elif self._verbose in (1, 2, "auto"):
            print(f"evaluate  {_format(logs)}", flush=True)

    def on_predict_begin(self, logs: Logs | None = None) -> None:
        """Open a bar."""
        self._open()
        self._row("predict")

    def on_predict_batch_end(self, batch: int, logs: Logs | None = None) -> None:
        """Move the bar."""
        self._move(batch, logs)

    def on_predict_end(self, logs: Logs | None = None) -> None:
        """Close the bar."""
        self.close()

    # --- inside -----------------------------------------------------------------------------------------------------

    def _open(self) -> None:
        if self._verbose in (0, 2) or (self._verbose == "auto" and not sys.stdout.isatty()):
            return
        try:
            rich = importlib.import_module("rich.progress")  # an extra: graftax[progress]
        except ImportError:
            return
        columns = [
            rich.TextColumn("{task.description}"),
            rich.BarColumn(bar_width=24),
            rich.MofNCompleteColumn(),
            rich.TimeElapsedColumn(),
            rich.TextColumn("{task.fields[numbers]}"),
        ]
        self._bar = rich.Progress(*columns, refresh_per_second=10)
        self._bar.start()

    def _row(self, title: str) -> None:
        if self._bar is not None:
            self._task = self._bar.add_task(title, total=self.params["steps"], numbers="")

    def _move(self, batch: int, logs: Logs | None) -> None:
        if self._bar is None or (now := time.perf_counter()) < self._due:
            return
        self._due = now + 0.1
        self._bar.update(self._task, completed=batch + 1, numbers=_format(logs))

    def close(self) -> None:
        """Give the terminal back; also after an exception."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def _format(logs: Logs | None) -> str:
    return "  ".join(f"{name} {value:.4g}" for name, value in (logs or {}).items())
