"""EventWriter: an event file that TensorBoard reads."""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from graftax.core.errors import ArgumentTypeError, StateError
from graftax.training.log_files import told
from graftax.training.optional_libraries import optional_library

_numbers = itertools.count()


class EventWriter:
    """Writes what TensorBoard shows into one file of a directory; made with tensorboardX.

    The file begins with the first entry. It is written to disk every few seconds, by `flush`, and by `close`; a crash
    loses at most what came since. Several writers may share a directory.

    Args:
        log_dir: The directory, made if need be.
        flush_seconds: After how long entries are written to disk with the next one. Defaults to 10.

    Raises:
        MissingLibraryError: tensorboardX is not installed.
        LogError: the file cannot be written.
    """

    def __init__(self, log_dir: str | os.PathLike[str], flush_seconds: float = 10.0) -> None:
        if not isinstance(log_dir, str | os.PathLike):
            raise ArgumentTypeError(f"log_dir={log_dir!r:.60}", "it is a path", 'log_dir="logs"')
        what = "a log for TensorBoard"
        self._made = optional_library("tensorboardX.summary", "tensorboard", what)
        self._files = optional_library("tensorboardX.event_file_writer", "tensorboard", what)
        self._events = optional_library("tensorboardX.proto.event_pb2", "tensorboard", what)
        self.log_dir = Path(log_dir)
        self._flush_seconds = flush_seconds
        self._lock = threading.Lock()
        self._file: Any = None
        self._flushed = time.monotonic()
        self._closed = False

    def scalar(self, name: str, value: Any, step: int) -> None:
        """Add a number."""
        self.add(self._made.scalar(name, float(value)), step)

    def histogram(self, name: str, values: object, step: int, bins: int = 50) -> None:
        """Add how values are spread; those that are not finite are left out, and their count is a number of its own."""
        array = np.asarray(values, "float64").reshape(-1)
        finite = array[np.isfinite(array)]
        if finite.size < array.size:
            self.scalar(f"{name}/not_finite", array.size - finite.size, step)
        if finite.size:
            self.add(self._made.histogram(name, finite, bins), step)

    def image(self, name: str, picture: object, step: int) -> None:
        """Add a picture ``(height, width, channels)``, of 0 to 1 or of uint8."""
        self.add(self._made.image(name, np.asarray(picture), dataformats="HWC"), step)

    def text(self, name: str, text: str, step: int) -> None:
        """Add a text, in Markdown."""
        self.add(self._made.text(name, text), step)

    def hyperparameters(self, values: Mapping[str, Any], results: Mapping[str, float]) -> None:
        """Add what was chosen for the run, and what came of it."""
        plain = {name: v if isinstance(v, bool | int | float | str) else repr(v) for name, v in values.items()}
        for summary in self._made.hparams(plain, dict(results)):
            self.add(summary, None)

    def add(self, summary: object, step: int | None) -> None:
        """Add a summary that tensorboardX made.

        Raises:
            StateError: the writer is closed.
            LogError: it cannot be written.
        """
        event = self._events.Event(summary=summary, wall_time=time.time())
        if step is not None:
            event.step = int(step)
        with self._lock, told("the log for TensorBoard", self.log_dir):
            if self._closed:
                raise StateError(
                    f"an entry for {self.log_dir} after close()", "its file is finished", "another EventWriter"
                )
            if self._file is None:
                self.log_dir.mkdir(parents=True, exist_ok=True)
                suffix = f".{os.getpid()}.{next(_numbers)}"
                self._file = self._files.EventsWriter(str(self.log_dir / "events"), suffix)
            self._file.write_event(event)
            if time.monotonic() - self._flushed > self._flush_seconds:
                self._file.flush()
                self._flushed = time.monotonic()

    def flush(self) -> None:
        """Write to disk what is not there yet."""
        with self._lock, told("the log for TensorBoard", self.log_dir):
            if self._file is not None and not self._closed:
                self._file.flush()

    def close(self) -> None:
        """Write the rest and finish the file; closing twice does nothing."""
        with self._lock, told("the log for TensorBoard", self.log_dir):
            if self._file is not None and not self._closed:
                self._file.close()
            self._closed = True
