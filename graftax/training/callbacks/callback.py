"""Callback: the base of all callbacks, and Logs, the numbers that they are shown."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from graftax.core.errors import ArgumentTypeError
from graftax.core.keywords import Constructed

if TYPE_CHECKING:
    from graftax.training.model import Model


class Logs(Mapping[str, float]):
    """Names and numbers. A number stays on the device until somebody reads it, so that nobody waits for one unread.

    Args:
        values: Scalars by name, arrays or Python numbers.

    Example:
        >>> logs = Logs({"loss": 0.25})
        >>> logs["loss"], dict(logs)
        (0.25, {'loss': 0.25})
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = dict(values)

    def __getitem__(self, name: str) -> float:
        value = self._values[name]
        if not isinstance(value, float):
            value = self._values[name] = float(value)
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return repr(dict(self))


class Callback(Constructed):
    """Does something at given moments of fit, evaluate and predict; subclass it and define the hooks you need.

    ``self.model`` is the model, ``self.params`` a dict with ``verbose``, ``epochs`` and ``steps``. Reading or
    assigning a Variable in a hook is always right; setting ``self.model.stop_training = True`` ends training after the
    present step. Logs of a batch are means over the epoch so far. Several callbacks run in the order of their list.

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


def listed(callbacks: Sequence[Callback] | None) -> list[Callback]:
    """Return the callbacks as a list; none for None.

    Raises:
        ArgumentTypeError: it is no list, or something in it is no callback.
    """
    if callbacks is None:
        return []
    if not isinstance(callbacks, Iterable):
        raise ArgumentTypeError(f"callbacks={callbacks!r}", "several may be given, in a list", "callbacks=[callback]")
    found = list(callbacks)
    for callback in found:
        if isinstance(callback, type) or not hasattr(callback, "set_model"):
            name = callback.__name__ if isinstance(callback, type) else "Callback"
            raise ArgumentTypeError(
                f"callbacks= holds {callback!r}", "each is an object of a subclass of Callback", f"callbacks=[{name}()]"
            )
        for hook in dir(callback):
            if hook.startswith("on_") and not hasattr(Callback, hook):
                _refuse_hook(type(callback).__name__, hook)
    return found


def _refuse_hook(kind: str, hook: str) -> None:
    """Raise for a method that looks like a hook, but is none: nobody would call it."""
    hooks = [name for name in dir(Callback) if name.startswith("on_")]
    near = [hook.replace("on_batch", "on_train_batch")] if hook in ("on_batch_begin", "on_batch_end") else []
    near = near or get_close_matches(hook, hooks, n=1, cutoff=0.85)
    if near:
        raise ArgumentTypeError(
            f"the callback {kind} has the method {hook}",
            "no hook is called so, and nobody would call it",
            f"def {near[0]}",
        )


class CallbackList:
    """Runs callbacks in order; hooks that none of them defines cost nothing.

    Args:
        callbacks: The callbacks.
        model: Given to each.
        params: Given to each.
    """

    def __init__(self, callbacks: Sequence[Callback], model: Model, params: dict[str, Any]) -> None:
        self.callbacks = list(callbacks)
        self._hooks: dict[str, list[Any]] = {}
        for callback in self.callbacks:
            callback.set_model(model)
            callback.set_params(params)

    def run(self, hook: str, *args: Any, logs: Mapping[str, Any] | None = None) -> None:
        """Call a hook of each callback that defines it."""
        if hook not in self._hooks:
            default = getattr(Callback, hook)
            defined = [c for c in self.callbacks if getattr(type(c), hook, default) is not default]
            self._hooks[hook] = [_takes_logs(getattr(callback, hook), default) for callback in defined]
        if self._hooks[hook]:
            shown = Logs(logs or {})
            for function in self._hooks[hook]:
                function(*args, logs=shown)


def _takes_logs(hook: Callable[..., None], default: Callable[..., None]) -> Callable[..., None]:
    """Return the hook, if it can be called as it will be."""
    wanted = list(inspect.signature(default).parameters)[1:]
    try:
        inspect.signature(hook).bind(*wanted[:-1], logs=None)
    except TypeError:
        name = f"{getattr(hook, '__qualname__', hook)}"
        raise ArgumentTypeError(
            f"the hook {name}{inspect.signature(hook)}",
            f"it is called with {', '.join(wanted)}",
            f"def {default.__name__}(self, {', '.join([*wanted[:-1], 'logs=None'])})",
        ) from None
    return hook
