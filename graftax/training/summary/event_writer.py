"""EventWriter: writes an event file for TensorBoard."""

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
from graftax.training.log_files import translated_errors
from graftax.training.optional_libraries import optional_library

_numbers = itertools.count()


class EventWriter:
    """Writes entries for TensorBoard to one file in a directory, with tensorboardX.

    The file is created at the first entry. It is flushed to disk every few seconds, by `flush`, and by `close`; a crash
    loses only later entries. Several writers may share a directory.

    Args:
        log_dir: The directory; created if necessary.
        flush_seconds: The time in seconds after which the next entry flushes the file. Defaults to 10.

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
        """Add a histogram of the finite values. The number of other values is added as a scalar."""
        array = np.asarray(values, "float64").reshape(-1)
        finite = array[np.isfinite(array)]
        if finite.size < array.size:
            self.scalar(f"{name}/not_finite", array.size - finite.size, step)
        if finite.size:
            self.add(self._made.histogram(name, finite, bins), step)

    def image(self, name: str, picture: object, step: int) -> None:
        """Add an image ``(height, width, channels)``, with values from 0 to 1, to which others are cut, or uint8."""
        array = np.asarray(picture)
        if array.dtype.name != "uint8":
            array = np.clip(np.nan_to_num(np.asarray(array, "float32")), 0, 1)
        self.add(self._made.image(name, array, dataformats="HWC"), step)

    def text(self, name: str, text: str, step: int) -> None:
        """Add a text, in Markdown."""
        self.add(self._made.text(name, text), step)

    def hyperparameters(self, values: Mapping[str, Any], results: Mapping[str, float]) -> None:
        """Add the hyperparameters of the run, and its results."""
        plain = {name: v if isinstance(v, bool | int | float | str) else repr(v) for name, v in values.items()}
        for summary in self._made.hparams(plain, dict(results)):
            self.add(summary, None)

    def add(self, summary: object, step: int | None) -> None:
        """Add a summary created by tensorboardX.

        Raises:
            StateError: the writer is closed.
            LogError: the file cannot be written.
        """
        event = self._events.Event(summary=summary, wall_time=time.time())
        if step is not None:
            event.step = int(step)
        with self._lock, translated_errors("the log for TensorBoard", self.log_dir):
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
        """Flush the file to disk."""
        with self._lock, translated_errors("the log for TensorBoard", self.log_dir):
            if self._file is not None and not self._closed:
                self._file.flush()

    def close(self) -> None:
        """Flush and close the file; closing it again has no effect."""
        with self._lock, translated_errors("the log for TensorBoard", self.log_dir):
            if self._file is not None and not self._closed:
                self._file.close()
            self._closed = True
