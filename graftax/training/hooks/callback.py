"""Callback, the base class of all callbacks, and Logs, the numbers that they get."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, ClassVar

from graftax.core.errors import ArgumentTypeError, MissingAttributeError
from graftax.core.keywords import Constructed

if TYPE_CHECKING:
    from graftax.training.model import Model


class Logs(MutableMapping[str, float]):
    """A mapping of names to numbers. A number stays on the device until it is read, so an unread one costs no waiting.

    Later callbacks, and the history, see what a callback writes.

    Args:
        values: Scalars by name, arrays or Python numbers.

    Raises:
        ArgumentTypeError: a written value is not a number.

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
    """Base class of callbacks: subclass it, and define the hooks of fit, evaluate and predict that you need.

    ``self.model`` is the model, ``self.params`` a dict with ``verbose``, ``epochs``, ``steps``, ``step`` (the number of
    steps so far, including those of earlier runs) and ``validates`` (whether there is a validation). If a run is
    resumed within an epoch, `on_epoch_begin` is called again with ``resumes_epoch`` True in ``params``, so that it can
    set up what it needs; Variables and the states of callbacks stay as they were saved. Hooks may read and assign
    Variables at any time. ``self.model.stop_training = True`` ends training after the present step. Logs of a batch are
    means over the epoch so far; logs of an epoch can be written to. Several callbacks run in the order of their list.
    Callbacks of Keras can be used, too.

    An exact resume includes the attributes that have changed since training began, if they are numbers, texts,
    Variables, NumPy arrays, generators of random numbers of NumPy and Python, or lists, tuples and dicts of these; a
    warning names the others. A callback that defines `get_state` and `set_state` says itself what it remembers. What a
    subclass of a callback of graftax adds to it goes on, too. A resumed run restores the state twice: before
    `on_train_begin`, which may look at it, and after, since that hook may reset it.

    The settings of the model, its optimizer and its losses that a callback changes, such as ``dropout.rate``, are
    restored before `on_train_begin`, as the Variables are.

    With several processes, each runs its own callbacks. A callback whose class sets ``main_only = True`` runs only in
    process 0, such as one that writes files or sends numbers to a server.

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
    """Whether only process 0 runs it, if there are several."""

    model: Model
    params: dict[str, Any]

    def __getattr__(self, name: str) -> Any:
        if name in ("model", "params"):
            kind, setter = type(self).__name__, f"set_{name}"
            if getattr(type(self), setter) is not getattr(Callback, setter):
                raise MissingAttributeError(
                    f"{kind} has no attribute {name!r}",
                    f"{kind}.{setter} overrides the method that sets it, and does not call that",
                    f"super().{setter}({name}) in {kind}.{setter}",
                )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    def set_model(self, model: Model) -> None:
        """Set ``self.model``; called before all hooks."""
        self.model = model

    def set_params(self, params: dict[str, Any]) -> None:
        """Set ``self.params``; called before all hooks."""
        self.params = params

    def on_train_begin(self, logs: Logs | None = None) -> None:
        """Run before the first epoch; for arrays, `fit` has built the model. Other data are not read so early."""

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
        """Run when training ends with an error, instead of `on_train_end`, for example to close files."""

    # --- resuming -----------------------------------------------------------------------------------------------------

    def get_state(self) -> Any:
        """Return the state of the callback as numbers, texts, arrays, lists and dicts; None for no state."""
        return None

    def set_state(self, state: Any) -> None:
        """Restore a result of `get_state`; called before `on_train_begin` of the resumed run, and again after it."""
