"""The number of the logs that a callback monitors, and its direction of improvement."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar, cast, overload

from graftax.core.errors import ArgumentError, ArgumentTypeError, DataError

_LESS = ("loss", "error", "crossentropy", "divergence", "poisson", "perplexity", "hinge", "logcosh", "wer", "cer")
_MORE = ("accuracy", "acc", "auc", "precision", "recall", "score", "iou", "dice", "r2", "similarity", "psnr", "ssim")
_SHORT_LESS = ("mse", "mae", "mape", "msle", "rmse", "bce", "nll", "bpc")
_SHORT_MORE = ("f1", "bleu", "map")
_LESS_THOUGH_SCORES = ("brier", "crps", "fid", "kid", "energy")


class Monitor:
    """One number of the logs of an epoch, and the direction in which it improves.

    Args:
        owner: The name of the callback, for messages.
        name: The name of the number, such as ``"val_loss"``.
        mode: ``"min"``, ``"max"``, or ``"auto"`` to infer it from the name.
        min_delta: The change that an improvement must exceed. Defaults to 0.
        word: The name of the argument for the mode, for messages. Defaults to ``"mode"``.

    Raises:
        ArgumentError: the mode is invalid, or cannot be inferred from the name; or ``min_delta`` is negative.

    Example:
        >>> monitor = Monitor("EarlyStopping", "val_loss", "auto", min_delta=0.1)
        >>> monitor.is_better(0.8, than=1.0), monitor.is_better(0.95, than=1.0)
        (True, False)
    """

    def __init__(self, owner: str, name: str, mode: str = "auto", min_delta: float = 0.0, word: str = "mode") -> None:
        if not isinstance(name, str):
            raise ArgumentTypeError(
                f"{owner} got monitor={name!r:.60}", "it is the name of a number in the logs", 'monitor="val_loss"'
            )
        if mode not in ("auto", "min", "max"):
            raise ArgumentError(f"{owner} got {word}={mode!r:.60}", "it is 'min', 'max' or 'auto'", f'{word}="min"')
        if not math.isfinite(min_delta) or min_delta < 0:
            raise ArgumentError(
                f"{owner} got min_delta={min_delta!r}", "it is the least change that counts", "min_delta=0.001"
            )
        self.owner = owner
        self.name = name
        self._given = mode, word
        self.mode = _direction(owner, name, word) if mode == "auto" else mode
        self.min_delta = float(min_delta)
        self.seen = False
        """Whether the number has been in the logs of this run."""

    def for_name(self, name: str) -> Monitor:
        """Return one of another number, with what was given besides; a mode that was inferred is so anew.

        Raises:
            ArgumentError: the mode cannot be inferred from the name.
            ArgumentTypeError: it is no name.
        """
        mode, word = self._given
        return Monitor(self.owner, name, mode, self.min_delta, word)

    @property
    def worst_value(self) -> float:
        """Return the initial value, which any number improves on."""
        return math.inf if self.mode == "min" else -math.inf

    def is_better(self, value: float, than: float) -> bool:
        """Return whether a value improves on another by more than ``min_delta``; nan never does."""
        if self.mode == "min":
            return value < than - self.min_delta
        return value > than + self.min_delta

    def read(self, logs: Mapping[str, float] | None, params: Mapping[str, Any]) -> float | None:
        """Return the number; None in an epoch without it, if it was there before or comes from a validation.

        Args:
            logs: The logs of the epoch.
            params: The ``params`` of the callback.

        Raises:
            DataError: it is not in the logs, and is not expected later.
        """
        if logs is not None and self.name in logs:
            self.seen = True
            return float(logs[self.name])
        is_validation = self.name.startswith("val_")
        validated = logs is not None and any(name.startswith("val_") for name in logs)
        if self.seen or (is_validation and not validated and params.get("validates")):
            return None
        raise self._missing_error(dict(logs or {}), is_validation and not validated)

    def _missing_error(self, logs: Mapping[str, float], unvalidated: bool) -> DataError:
        there = ", ".join(logs) or "nothing"
        near = self.name.removeprefix("val_").removeprefix("train_")
        instead = next((f"monitor={name!r}" for name in (f"val_{self.name}", near) if name in logs), "one of these")
        if unvalidated:
            other = f"; or monitor={near!r}" if near in logs else ""
            instead = f"fit(..., validation_data=(x_val, y_val)){other}"
        return DataError(
            f"{self.owner} watches {self.name!r}, and the logs have {there}",
            "nothing is validated, so there are no numbers of a validation"
            if unvalidated
            else "no metric has this name; a number added by a callback must come from an earlier callback, "
            "in callbacks=, from the first epoch on that is looked at",
            instead,
        )


M = TypeVar("M", bound="Monitor | None")


class Monitored(Generic[M]):
    """The attribute ``monitor`` of a callback: a name assigned later becomes a `Monitor`, as in the constructor.

    Args:
        owner: The name of the callback, for messages.
        start_over: Lets the callback forget what it knows of the number before. Defaults to None: nothing is.
        or_none: Whether there may be none. Defaults to False.
    """

    def __init__(self, owner: str, start_over: Callable[[Any], None] | None = None, or_none: bool = False) -> None:
        self._owner = owner
        self._start_over = start_over
        self._or_none = or_none

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type[Any]) -> Monitored[M]: ...
    @overload
    def __get__(self, instance: object, owner: type[Any]) -> M: ...
    def __get__(self, instance: object | None, owner: type[Any]) -> Monitored[M] | M:
        return self if instance is None else vars(instance)[self._name]

    def __set__(self, instance: object, value: M | str) -> None:
        is_late, before = self._name in vars(instance), vars(instance).get(self._name)
        if not isinstance(value, Monitor) and not (value is None and self._or_none):
            name = cast("str", value)
            value = cast("M", before.for_name(name) if isinstance(before, Monitor) else Monitor(self._owner, name))
        vars(instance)[self._name] = value
        if is_late and self._start_over is not None:
            self._start_over(instance)


def _direction(owner: str, name: str, word: str) -> str:
    plain = name.removeprefix("val_").lower()
    words = set(plain.split("_"))
    less = any(part in plain for part in _LESS[:8]) or bool(words & {*_LESS[8:], *_SHORT_LESS})
    more = any(part in plain for part in _MORE) or bool(words & set(_SHORT_MORE))
    if plain.endswith(("loss", "error")) or words & set(_LESS_THOUGH_SCORES):
        less, more = True, False
    if less == more:
        raise ArgumentError(
            f"{owner} got monitor={name!r}",
            "the name does not tell whether less or more of it is better",
            f'{owner}(..., monitor={name!r}, {word}="max"), or {word}="min"',
        )
    return "min" if less else "max"
