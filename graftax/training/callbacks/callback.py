"""Callback: the base of all callbacks, and Logs, the numbers that they are shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, ClassVar

from graftax.core.errors import ArgumentTypeError
from graftax.core.keywords import Constructed

if TYPE_CHECKING:
    from graftax.training.model import Model


class Logs(MutableMapping[str, float]):
    """Names and numbers. A number stays on the device until somebody reads it, so that nobody waits for one unread.

    What a callback writes is seen by those after it, and by the history.

    Args:
        values: Scalars by name, arrays or Python numbers.

    Raises:
        ArgumentTypeError: what is written is no number.

    Example:
        >>> logs = Logs({"loss": 0.25})
        >>> logs["perplexity"] = 1.5
        >>> logs["loss"], dict(logs)
        (0.25, {'loss': 0.25, 'perplexity': 1.5})
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = dict(values)

    def __getitem__(self, name: str) -> float:
        value = self._values[name]
        if not isinstance(value, float):
            value = self._values[name] = float(value)
        return value

    def __setitem__(self, name: str, value: object) -> None:
        shape = getattr(value, "shape", ())
        if not isinstance(name, str) or tuple(shape) != () or not hasattr(value, "__float__"):
            shown = f"an array of shape {tuple(shape)}" if shape else repr(value)
            raise ArgumentTypeError(
                f"logs[{name!r}] = {shown}", "logs hold one number for each name", f"logs[{str(name)!r}] = float(...)"
            )
        self._values[name] = value

    def __delitem__(self, name: str) -> None:
        del self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return repr(dict(self))

    def copy(self) -> dict[str, float]:
        """Return the numbers as a dict."""
        return dict(self)


class Callback(Constructed):
    """Does something at given moments of fit, evaluate and predict; subclass it and define the hooks you need.

    ``self.model`` is the model, ``self.params`` a dict with ``verbose``, ``epochs``, ``steps``, ``step`` (how many
    steps have been taken, those of earlier runs counted) and ``validates`` (whether there is a validation). Where a
    run is resumed within an epoch, `on_epoch_begin` comes again with ``resumes_epoch`` True in it: for what it sets up;
    Variables and what callbacks remember stay as they were saved. Reading or
    assigning a Variable in a hook is always right; setting ``self.model.stop_training = True`` ends training after the
    present step. Logs of a batch are means over the epoch so far; those of an epoch may be written to. Several
    callbacks run in the order of their list. Callbacks of Keras do as well.

    A callback that remembers something says so with `get_state` and `set_state`, which make it a part of exact resume.
    For a callback of Keras its plain attributes are saved that changed since training began: numbers, texts, arrays,
    lists and dicts of these.

    With several processes each runs its own callbacks; one whose class says ``main_only = True`` is run by process 0
    alone, such as those that write files or send numbers away.

    Example:
        >>> import numpy as np, graftax as gx
        >>> class Stop(Callback):
        ...     def on_epoch_end(self, epoch, logs=None):
        ...         self.model.stop_training = logs["loss"] < 10
        >>> model = gx.Sequential([gx.layers.Dense(1)])
        >>> model.compile(gx.optimizers.SGD(0.01), "mse")
        >>> x = np.ones((4, 2), "float32")
        >>> len(model.fit(x, x[:, :1], epochs=5, verbose=0, callbacks=[Stop()]).epoch)
        1
    """

    main_only: ClassVar[bool] = False
    """Whether process 0 alone runs it, of several."""

    model: Model
    params: dict[str, Any]

    def set_model(self, model: Model) -> None:
        """Take the model; called first."""
        self.model = model

    def set_params(self, params: dict[str, Any]) -> None:
        """Take what fit was asked to do; called first."""
        self.params = params

    def on_train_begin(self, logs: Logs | None = None) -> None:
        """Run before the first epoch."""

    def on_train_end(self, logs: Logs | None = None) -> None:
        """Run after the last epoch, with its logs."""

    def on_epoch_begin(self, epoch: int, logs: Logs | None = None) -> None:
        """Run before an epoch, counted from 0."""

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        """Run after an epoch and its validation."""

    def on_train_batch_begin(self, batch: int, logs: Logs | None = None) -> None:
        """Run before a step."""

    def on_train_batch_end(self, batch: int, logs: Logs | None = None) -> None:
        """Run after a step."""

    def on_test_begin(self, logs: Logs | None = None) -> None:
        """Run before an evaluation."""

    def on_test_end(self, logs: Logs | None = None) -> None:
        """Run after an evaluation."""

    def on_test_batch_begin(self, batch: int, logs: Logs | None = None) -> None:
        """Run before a batch of an evaluation."""

    def on_test_batch_end(self, batch: int, logs: Logs | None = None) -> None:
        """Run after a batch of an evaluation."""

    def on_predict_begin(self, logs: Logs | None = None) -> None:
        """Run before a prediction."""

    def on_predict_end(self, logs: Logs | None = None) -> None:
        """Run after a prediction."""

    def on_predict_batch_begin(self, batch: int, logs: Logs | None = None) -> None:
        """Run before a batch of a prediction."""

    def on_predict_batch_end(self, batch: int, logs: Logs | None = None) -> None:
        """Run after a batch of a prediction."""

    def on_exception(self, error: BaseException) -> None:
        """Training ends with an error, in place of `on_train_end`: close what is open."""

    # --- resuming ---------------------------------------------------------------------------------------------------

    def get_state(self) -> Any:
        """Return what the callback remembers, as numbers, texts, arrays, lists and dicts; None for nothing."""
        return None

    def set_state(self, state: Any) -> None:
        """Take back what `get_state` returned, after `on_train_begin` of the run that resumes."""
