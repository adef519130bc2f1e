"""TensorBoard: writes numbers, histograms and texts of training for TensorBoard."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from graftax.core.errors import ArgumentError
from graftax.layers.layer import Layer
from graftax.training.callbacks.every_steps import EverySteps
from graftax.training.callbacks.learning_rate import iterations_of, optimizer_of, rates_of
from graftax.training.display.summary_table import summarize
from graftax.training.hooks.callback import Callback, Logs
from graftax.training.summary.event_writer import EventWriter
from graftax.training.summary.recording import use_writer
from graftax.training.weights import weights_of


class TensorBoard(Callback):
    """Writes event files: ``log_dir/train`` and ``log_dir/validation``. ``tensorboard --logdir logs`` shows them.

    Each epoch writes ``epoch_loss``, ``epoch_learning_rate`` and so on; numbers of the validation have the same names,
    in the other directory. The summary of the model is a text; hyperparameters are in the tab with this name.

    Args:
        log_dir: The directory. Defaults to ``"logs"``.
        histogram_freq: Write histograms of all weights once in so many epochs; 0 for never. Defaults to 0.
        write_graph: Whether to write the summary of the model. Defaults to True.
        write_images: Whether to also write the weights as images, together with the histograms. Defaults to False.
        write_steps_per_second: Whether to write the number of steps per second. Defaults to False.
        update_freq: ``"epoch"``; or ``"batch"``, or a number of steps, to also write numbers of single steps, which
            waits for the device. Defaults to ``"epoch"``.
        hyperparameters: Hyperparameters of the run, by name. Defaults to None.

    Raises:
        MissingLibraryError: tensorboardX is not installed: ``pip install 'graftax[tensorboard]'``.
        LogError: a file cannot be written.

    Example:
        >>> callback = TensorBoard("logs", histogram_freq=1, hyperparameters={"width": 64})
        >>> callback.update_freq
        'epoch'
    """

    main_only = True

    def __init__(
        self,
        log_dir: str | os.PathLike[str] = "logs",
        histogram_freq: int = 0,
        write_graph: bool = True,
        write_images: bool = False,
        write_steps_per_second: bool = False,
        update_freq: int | str = "epoch",
        hyperparameters: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        is_number = isinstance(update_freq, int) and not isinstance(update_freq, bool) and update_freq > 0
        if not is_number and update_freq not in ("epoch", "batch"):
            raise ArgumentError(
                f"TensorBoard got update_freq={update_freq!r}", "it is 'epoch', 'batch' or a number of steps", '"epoch"'
            )
        if histogram_freq < 0 or (write_images and not histogram_freq):
            raise ArgumentError(
                f"TensorBoard got histogram_freq={histogram_freq}, write_images={write_images}",
                "histograms, and pictures with them, come every so many epochs",
                "histogram_freq=1",
            )
        self.log_dir = Path(log_dir)
        self.histogram_freq = histogram_freq
        self.write_graph = write_graph
        self.write_images = write_images
        self.write_steps_per_second = write_steps_per_second
        self.update_freq = 1 if update_freq == "batch" else update_freq
        self._due = EverySteps(self.update_freq if isinstance(self.update_freq, int) else 0)
        self.hyperparameters = dict(hyperparameters or {})
        self._writers: dict[str, EventWriter] = {}
        self._default = ExitStack()
        self._began, self._step_at_begin, self._graph_is_written = 0.0, 0, False

    def on_train_begin(self, logs: Logs | None = None) -> None:
        """Open the files. Entries of `graftax.summary` during training are written to those of training."""
        self._open()
        self._default.enter_context(use_writer(self._writers["train"], iterations_of(self.model)))
        self._graph_is_written = False
        self._due.begin(self.params["step"])

    def _open(self) -> None:
        self._writers = {name: EventWriter(self.log_dir / name) for name in ("train", "validation")}

    def on_epoch_begin(self, epoch: int, logs: Logs | None = None) -> None:
        """Start to measure the time."""
        self._began, self._step_at_begin = time.perf_counter(), self.params["step"]

    def on_train_batch_end(self, batch: int, logs: Logs | None = None) -> None:
        """Write the numbers of the step, if it is due."""
        step = self.params["step"]
        if self._due.comes_at(step):
            self._write("train", "batch_", {**(logs or {}), **self._rate()}, step)

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        """Write the numbers of the epoch, and histograms if due."""
        found = dict(logs or {})
        if self.write_steps_per_second:
            seconds = time.perf_counter() - self._began
            found["steps_per_second"] = (self.params["step"] - self._step_at_begin) / max(seconds, 1e-9)
        own = {name: value for name, value in found.items() if not name.startswith("val_")}
        validated = {name.removeprefix("val_"): v for name, v in found.items() if name.startswith("val_")}
        if self.write_graph and not self._graph_is_written and isinstance(self.model, Layer):
            self._write_graph(epoch)
        self._write("train", "epoch_", own, epoch)
        self._write("validation", "epoch_", validated, epoch)
        if self.histogram_freq and epoch % self.histogram_freq == 0:
            self._write_weights(epoch)
        for writer in self._writers.values():
            writer.flush()

    def on_test_begin(self, logs: Logs | None = None) -> None:
        """Open the files, unless training has opened them."""
        if not self.params.get("training"):
            self._open()

    def on_test_end(self, logs: Logs | None = None) -> None:
        """Write the numbers of an evaluation outside of fit, by the step."""
        if not self.params.get("training"):
            self._write("validation", "evaluation_", dict(logs or {}), self.params.get("step", 0))
            self._close()

    def on_train_end(self, logs: Logs | None = None) -> None:
        """Write the hyperparameters with the last numbers, and close the files."""
        if self.hyperparameters or optimizer_of(self.model) is not None:
            chosen = {"optimizer": type(optimizer_of(self.model)).__name__, **self._rate(), **self.hyperparameters}
            results = {f"final/{name}": float(value) for name, value in (logs or {}).items()}
            self._writers["train"].hyperparameters(chosen, results)
        self._close()

    def on_exception(self, error: BaseException) -> None:
        """Close the files."""
        self._close()

    def _close(self) -> None:
        self._default.close()
        for writer in self._writers.values():
            writer.close()

    def _rate(self) -> dict[str, float]:
        return {name: float(rate) for name, rate in rates_of(self.model).items()}

    def _write(self, place: str, prefix: str, numbers: Mapping[str, float], step: int) -> None:
        for name, value in numbers.items():
            self._writers[place].scalar(f"{prefix}{name}", value, step)

    def _write_graph(self, epoch: int) -> None:
        table = "\n".join(f"    {line}" for line in summarize(self.model).splitlines())
        self._writers["train"].text("model", table, epoch)
        self._graph_is_written = True

    def _write_weights(self, epoch: int) -> None:
        writer = self._writers["train"]
        for variable in weights_of(self.model):
            values = variable.numpy()
            writer.histogram(variable.path, values, epoch)
            if self.write_images and (picture := _picture(values)) is not None:
                writer.image(variable.path, picture, epoch)


def _picture(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any] | None:
    """Return a matrix, or the first filter of a convolution, as a grayscale image; None for other weights."""
    if values.ndim < 2 or not values.size:
        return None
    plane = np.asarray(values.reshape(values.shape[0], values.shape[1], -1)[..., 0], "float32")
    low, high = float(np.min(plane)), float(np.max(plane))
    if not np.isfinite(low) or not np.isfinite(high):
        return None
    return ((plane - low) / max(high - low, 1e-12))[..., None]
