"""Progress: a bar on a terminal and in a notebook, one line an epoch elsewhere."""

from __future__ import annotations

import time
from collections.abc import Mapping

from graftax.core.of_constructor import OfConstructor
from graftax.training.arguments import check_verbosity
from graftax.training.display.progress_line import Progressed
from graftax.training.display.screen import Screen
from graftax.training.hooks.callback import Callback, Logs
from graftax.training.hooks.ended import STEPS_ENDED, end_of

_INTERIM = 60.0
"""Seconds after which a line of an unfinished epoch is written to a file."""


class Progress(Callback):
    """Shows the progress of training, evaluation or prediction.

    Each epoch has one line: its number, steps, a bar, time per step, remaining time, and the numbers. On a terminal and
    in a notebook the line is updated, and cut to the available width; in a file or a pipe it is written at the end of
    the epoch, and once a minute before. Numbers are fetched from the device at most ten times a second.

    Args:
        verbose: ``"auto"`` or 1: as above, except that ``"auto"`` writes no line for a prediction to a file. 2: one
            line for each epoch, without updates. 0: nothing. Defaults to ``"auto"``.

    Example:
        >>> bar = Progress(verbose=2)
    """

    verbose = OfConstructor("graftax.callbacks.Progress(..., verbose={value}), a new callback")

    def __init__(self, verbose: int | str = "auto") -> None:
        super().__init__()
        self._verbose = check_verbosity(verbose)
        self._screen = Screen(0)
        self._title = ""
        self._began = self._counted_from = self._due = 0.0
        self._first = 0  # steps that compile, and so are not part of the rate
        self._last = 0.0  # the time when the latest of these was computed
        self._done = 0
        self._total: int | None = None

    @property
    def is_silent(self) -> bool:
        """Return True if it never shows anything."""
        return self._verbose == 0

    # --- training -----------------------------------------------------------------------------------------------------

    def on_train_begin(self, logs: Logs | None = None) -> None:
        """Find out whether the output is a terminal, a notebook or a file."""
        self._screen = Screen(self._verbose)

    def on_epoch_begin(self, epoch: int, logs: Logs | None = None) -> None:
        """Start a line for the epoch."""
        last = str(self.params["epochs"])
        self._start(f"epoch {epoch + 1:{len(last)}}/{last}", self.params["steps"])
        if self._screen.is_moving:
            self._show({})

    def on_train_batch_end(self, batch: int, logs: Logs | None = None) -> None:
        """Update the line."""
        self._move(batch + 1, logs)

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        """Finish the line."""
        self._finish(logs, self.params.get(STEPS_ENDED))

    def on_train_end(self, logs: Logs | None = None) -> None:
        """Release the terminal."""
        self.close()

    # --- evaluation and prediction ------------------------------------------------------------------------------------

    def on_test_begin(self, logs: Logs | None = None) -> None:
        """Start a line, unless this is the validation of an epoch."""
        if not self.params.get("validating"):
            self._screen = Screen(self._verbose)
            self._start("evaluate", self.params["steps"])

    def on_test_batch_end(self, batch: int, logs: Logs | None = None) -> None:
        """Update the line; during an epoch, it shows the progress of the validation."""
        if not self.params.get("validating"):
            self._move(batch + 1, logs)
        elif self._screen.is_moving and (now := time.perf_counter()) >= self._due:
            self._due = now + self._screen.seconds_between
            of = self.params.get("validation_steps")
            count = f"{batch + 1}/{of}" if of else str(batch + 1)
            self._show({}, f"{self._title}, validation {count}")

    def on_test_end(self, logs: Logs | None = None) -> None:
        """Finish the line."""
        if not self.params.get("validating"):
            self._finish(logs)

    def on_predict_begin(self, logs: Logs | None = None) -> None:
        """Start a line."""
        self._screen = Screen(self._verbose)
        self._screen.prints = self._screen.is_moving or self._verbose == 1
        self._start("predict", self.params["steps"])

    def on_predict_batch_end(self, batch: int, logs: Logs | None = None) -> None:
        """Update the line."""
        self._move(batch + 1, None)

    def on_predict_end(self, logs: Logs | None = None) -> None:
        """Finish the line."""
        self._finish(None)

    # --- inside -------------------------------------------------------------------------------------------------------

    def clear(self) -> None:
        """Clear the updated line, since other callbacks may print."""
        self._screen.clear()

    def close(self) -> None:
        """Keep the last line and release the terminal, also after an exception."""
        self._screen.close()

    def _start(self, title: str, total: int | None) -> None:
        self._title, self._total, self._done = title, total, 0
        self._began = self._counted_from = time.perf_counter()
        self._due = self._began + (0.0 if self._screen.is_moving else _INTERIM)
        self._first = 0

    def _move(self, done: int, logs: Logs | None) -> None:
        self._done = done
        if not self._screen.prints:
            return
        now = time.perf_counter()
        if self._first == 0:
            now = end_of(logs)
            self._first, self._counted_from = done, now
        if now < self._due or self._verbose == 2:
            return
        now = self._last = end_of(logs)
        if self._screen.is_moving:
            self._due = now + self._screen.seconds_between
            self._show(logs or {})
        else:
            self._due = now + _INTERIM
            self._screen.finish(self._current_progress(logs or {}).line(None, plain=True))

    def _finish(self, logs: Logs | None, ended: float | None = None) -> None:
        if self._screen.prints:
            self._last = ended or end_of(logs)
            line = self._current_progress(logs or {}, is_over=True).line(self._screen.width, self._screen.is_plain)
            self._screen.finish(line)

    def _show(self, numbers: Mapping[str, float], title: str = "") -> None:
        line = self._current_progress(numbers, title).line(self._screen.width, self._screen.is_plain)
        self._screen.show(line)

    def _current_progress(self, numbers: Mapping[str, float], title: str = "", is_over: bool = False) -> Progressed:
        now = time.perf_counter()
        later = self._done - self._first
        per_step = (self._last - self._counted_from) / later if later > 0 else None
        if per_step is None and self._done:
            per_step = (self._last - self._began) / self._done
        return Progressed(title or self._title, self._done, self._total, now - self._began, per_step, numbers, is_over)
