"""The arguments of `compile`, `fit`, `evaluate` and `predict`: each is used, or refused before anything runs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, ParamSpec, TypeVar

from graftax.core import user_line
from graftax.core.errors import ArgumentError, ArgumentTypeError
from graftax.core.wrapping import wraps

P = ParamSpec("P")
R = TypeVar("R")


def keywords(foreign: Mapping[str, str]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator for a method: the error for an unknown argument says what to write instead.

    Args:
        foreign: Names of arguments in other libraries, with what to write here instead.
    """

    def decorate(fn: Callable[P, R]) -> Callable[P, R]:
        known = [name for name in inspect.signature(fn).parameters if name != "self"]

        @wraps(fn)
        def run(*args: P.args, **kwargs: P.kwargs) -> R:
            for name, value in kwargs.items():
                if name not in known:
                    raise _unknown(fn.__name__, name, value, known, foreign)
            return fn(*args, **kwargs)

        return run

    return decorate


def _unknown(method: str, name: str, value: object, names: list[str], foreign: Mapping[str, str]) -> ArgumentTypeError:
    near = get_close_matches(name, names, n=1, cutoff=0.7)
    meant = foreign.get(name) or (f"{near[0]}={value!r:.40}; did you mean {near[0]}?" if near else "without it")
    return ArgumentTypeError(f"{method} got {name}={value!r:.40}", f"it takes {', '.join(names)}", meant)


def check_count(name: str, value: Any, least: int = 1) -> int:
    """Return the value if it is an integer of at least ``least``.

    Raises:
        ArgumentError: it is not an integer, or too small.
    """
    example = f"{name}={max(least, 10)}"
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise ArgumentError(f"{name}={value!r}", "it is counted in integers", example)
    number: int = value.__index__()
    if number < least:
        raise ArgumentError(f"{name}={number}", f"it is counted from {least} on", example)
    return number


def check_count_or_none(name: str, value: object) -> int | None:
    """Return the value, if it is None or an integer above 0."""
    return None if value is None else check_count(name, value)


def check_truth(name: str, value: object) -> bool:
    """Return the value, if it is True or False.

    Raises:
        ArgumentTypeError: it is something else.
    """
    if not isinstance(value, bool):
        raise ArgumentTypeError(f"{name}={value!r}", "it is switched on or off", f"{name}=True")
    return value


def check_nan_option(value: object, eager: bool) -> bool:
    """Return ``check_nans``, if the steps are compiled.

    Raises:
        ArgumentTypeError: it is neither True nor False.
        ArgumentError: the model is to run eagerly.
    """
    if check_truth("check_nans", value) and eager:
        raise ArgumentError(
            "fit(check_nans=True) of a model compiled with run_eagerly=True",
            "a bad step is found, and taken back, where it runs as one program",
            'model.compile(...) without run_eagerly, or graftax.check_numerics(x, "which") where you suspect it',
        )
    return bool(value)


def check_verbosity(value: object) -> int | str:
    """Return ``"auto"``, 0, 1 or 2; True and False stand for 1 and 0.

    Raises:
        ArgumentError: it is something else.
    """
    if isinstance(value, bool) or (isinstance(value, int) and value in (0, 1, 2)):
        return int(value)
    if isinstance(value, str) and value == "auto":
        return value
    raise ArgumentError(
        f"verbose={value!r}", "it is 0 (quiet), 1 (a bar), 2 (a line each epoch) or 'auto'", "verbose=2"
    )


def epochs_of(initial_epoch: object, epochs: object) -> range:
    """Return the numbers of the epochs to run.

    Raises:
        ArgumentTypeError: a value is not an integer.
        ArgumentError: the end is before the start.
    """
    for name, number in (("epochs", epochs), ("initial_epoch", initial_epoch)):
        if not hasattr(number, "__index__"):
            raise ArgumentTypeError(f"{name}={number!r}", "epochs are counted in integers", f"{name}=10")
    first, stop = check_count("initial_epoch", initial_epoch, 0), check_count("epochs", epochs)
    if first > stop:
        raise ArgumentError(
            f"initial_epoch={first}, epochs={stop}",
            "epochs is the number of the epoch to stop before, not how many are run",
            f"initial_epoch={first}, epochs={first + stop}",
        )
    if first == stop:
        user_line.warn(
            f"initial_epoch={first}, epochs={stop}: no epoch is run, since epochs is the number of the epoch to stop "
            f"before. Instead, for {stop} more: initial_epoch={first}, epochs={first + stop}"
        )
    return range(first, stop)


def refuse_two_starts(resume: object, initial_epoch: object) -> None:
    """Raise if both arguments say where a run starts.

    Raises:
        ArgumentError: both are given.
    """
    if resume is not None and initial_epoch != 0:
        raise ArgumentError(
            f"fit(resume=..., initial_epoch={initial_epoch})",
            "the checkpoint says where the run goes on",
            "fit(resume=...) without initial_epoch=",
        )


def check_validation(
    epochs: range, split: object, validation_data: object, steps: object, batch_size: object, freq: object
) -> Callable[[int], bool]:
    """Tell whether there is a validation after an epoch, counted from 0.

    Args:
        epochs: The numbers of the epochs.
        split: ``validation_split``.
        validation_data: ``validation_data``.
        steps: ``validation_steps``.
        batch_size: ``validation_batch_size``.
        freq: ``validation_freq``: a number of epochs, or a list of epochs counted from 1.

    Raises:
        ArgumentTypeError: an argument has a wrong type.
        ArgumentError: a value is invalid, or there is a setting for the validation but no data to validate on.
    """
    if isinstance(split, bool) or not isinstance(split, int | float) or not 0 <= split < 1:
        raise ArgumentError(
            f"validation_split={split!r}",
            "it is the fraction of the rows that is kept back",
            "validation_split=0.2",
        )
    if split and validation_data is not None:
        raise ArgumentError(
            f"validation_split={split} and validation_data",
            "there is one validation: on rows that are kept back, or on data of its own",
            "validation_data=... without validation_split=",
        )
    check_count_or_none("validation_steps", steps)
    check_count_or_none("validation_batch_size", batch_size)
    due = _due(freq)
    if not split and validation_data is None:
        named = {"validation_steps": steps, "validation_batch_size": batch_size}
        named["validation_freq"] = None if freq == 1 else freq
        for name, value in named.items():
            if value is not None:
                raise ArgumentError(
                    f"{name}={value!r:.80} without data to validate on",
                    "it says how to validate, and there is no validation",
                    f"validation_data=(x_val, y_val), {name}={value!r}",
                )
    elif epochs and not any(map(due, epochs)):
        user_line.warn(
            f"validation_freq={freq!r:.80}: with epochs={epochs.stop} there is no validation at all. "
            "validation_freq=1 validates after each epoch."
        )
    elif epochs and isinstance(freq, list | tuple) and (never := [one for one in freq if one > epochs.stop]):
        user_line.warn(
            f"validation_freq={freq!r:.80} with epochs={epochs.stop}: there is no validation after epoch "
            f"{', '.join(map(str, never))}, which is not run. Instead: epochs={max(never)}, or a list without "
            f"{'it' if len(never) == 1 else 'these'}"
        )
    return due


def _due(freq: object) -> Callable[[int], bool]:
    if isinstance(freq, Sequence) and not isinstance(freq, str):
        listed = {check_count("validation_freq", epoch) for epoch in freq}
        if not listed:
            raise ArgumentError(f"validation_freq={freq!r}", "it lists no epoch", "validation_freq=1")
        return lambda epoch: epoch + 1 in listed
    every = check_count("validation_freq", freq)
    return lambda epoch: (epoch + 1) % every == 0
