"""The callbacks of a run: checked at the start, called in order."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from types import CodeType, MethodType
from typing import Any
from weakref import WeakKeyDictionary

from graftax.core.errors import ArgumentError, ArgumentTypeError, GraftaxError
from graftax.core.user_functions import misfit
from graftax.distribution.processes import is_main
from graftax.training.hooks.callback import Callback, Logs

_HOOKS = [name for name in dir(Callback) if name.startswith("on_")]
_OF_KERAS = ("on_batch_begin", "on_batch_end")


def as_list(callbacks: Sequence[Callback] | None) -> list[Callback]:
    """Return the callbacks as a list; an empty one for None.

    Raises:
        ArgumentTypeError: it is not a list, or an element is not a callback.
    """
    if callbacks is None:
        return []
    if not isinstance(callbacks, Iterable):
        raise ArgumentTypeError(f"callbacks={callbacks!r}", "callbacks are given as a list", "callbacks=[callback]")
    found = list(callbacks)
    if twice := [one for i, one in enumerate(found) if any(one is other for other in found[:i])]:
        raise ArgumentError(
            f"callbacks= holds {type(twice[0]).__name__} at {[i for i, one in enumerate(found) if one is twice[0]]}, "
            "the same object",
            "each of its hooks would be called several times, so that patience or steps count double",
            "callbacks= with it once; or another object for another purpose",
        )
    for callback in found:
        if isinstance(callback, type) or not hasattr(callback, "set_model"):
            name = callback.__name__ if isinstance(callback, type) else "Callback"
            raise ArgumentTypeError(
                f"callbacks= holds {callback!r}", "each is an object of a subclass of Callback", f"callbacks=[{name}()]"
            )
        for hook in dir(callback):
            if hook.startswith("on_") and not hasattr(Callback, hook) and callable(getattr(callback, hook)):
                if not isinstance(callback, Callback) and (hook in _OF_KERAS or not _is_near(hook)):
                    continue  # callbacks of Keras may have methods that their own base class calls
                if hook not in _MEANT and not _is_near(hook) and _calls(type(callback), hook):
                    continue
                _refuse_hook(type(callback).__name__, hook)
    return found


_MEANT = {
    **dict.fromkeys(("on_batch_begin", "on_train_step_begin", "on_step_begin"), "on_train_batch_begin"),
    **dict.fromkeys(("on_batch_end", "on_train_step_end", "on_step_end", "on_step"), "on_train_batch_end"),
    **dict.fromkeys(("on_fit_start", "on_fit_begin", "on_train_start"), "on_train_begin"),
    "on_fit_end": "on_train_end",
    **dict.fromkeys(("on_epoch_start", "on_train_epoch_start", "on_train_epoch_begin"), "on_epoch_begin"),
    "on_train_epoch_end": "on_epoch_end",
    **dict.fromkeys(
        ("on_validation_start", "on_validation_begin", "on_validation_epoch_start", "on_evaluate_begin"),
        "on_test_begin",
    ),
    **dict.fromkeys(("on_validation_end", "on_validation_epoch_end", "on_evaluate_end", "on_evaluate"), "on_test_end"),
    **dict.fromkeys(("on_validation_batch_start", "on_validation_batch_begin"), "on_test_batch_begin"),
    "on_validation_batch_end": "on_test_batch_end",
    "on_error": "on_exception",
}
"""What the hooks of other libraries are called here."""


def _calls(kind: type[Any], hook: str) -> bool:
    """Tell whether a method of a class names a hook, which it may call itself then."""
    functions = [vars(base).values() for base in kind.__mro__]
    return any(_names(getattr(one, "__code__", None), hook) for values in functions for one in values)


def _names(code: object, hook: str) -> bool:
    return isinstance(code, CodeType) and (hook in code.co_names or any(_names(one, hook) for one in code.co_consts))


def _is_near(hook: str) -> bool:
    return bool(get_close_matches(hook, _HOOKS, n=1, cutoff=0.85))


def _refuse_hook(kind: str, hook: str) -> None:
    """Raise for a method that looks like a hook but is not one, and so would never be called."""
    near = [_MEANT[hook]] if hook in _MEANT else get_close_matches(hook, _HOOKS, n=1, cutoff=0.75)
    raise ArgumentTypeError(
        f"the callback {kind} has the method {hook}",
        "no hook has that name, so nothing would call it",
        f"def {near[0]}" if near else f"one of the hooks, {', '.join(_HOOKS)}; or another name, without on_",
    )


class CallbackList:
    """Runs callbacks in order. Hooks that no callback defines cost no time.

    Args:
        callbacks: The callbacks.
        attach: Shows a callback the model, before anything else is called.
        params: The ``params`` for all callbacks.
    """

    def __init__(
        self, callbacks: Sequence[Callback], attach: Callable[[Callback], None], params: dict[str, Any]
    ) -> None:
        here = is_main()
        self.callbacks = [one for one in callbacks if here or not getattr(one, "main_only", False)]
        self.params = params
        self._hooks: dict[str, list[Callable[..., None]]] = {}
        for callback in self.callbacks:
            attach(callback)
            callback.set_params(params)

    def run(self, hook: str, *args: Any, logs: Mapping[str, Any] | None = None) -> None:
        """Call a hook of all callbacks that define it, with one common `Logs`.

        Raises:
            Exception: the exception of a callback, with a note that names the callback.
        """
        functions = self._functions_of_hook(hook)
        if not functions:
            return
        shown = logs if isinstance(logs, Logs) else Logs(logs or {})
        for function in functions:
            try:
                function(*args, logs=shown)
            except Exception as error:
                _name(error, function, args)
                raise

    def runs(self, hook: str) -> list[Callable[..., None]]:
        """Return a list with a function that calls `run` for a hook; empty if no callback defines the hook.

        For training loops, where a look-up at each batch would take a noticeable part of a small step.
        """
        return [partial(self.run, hook)] if self.has_hook(hook) else []

    def has_hook(self, hook: str) -> bool:
        """Return whether any callback defines a hook."""
        return bool(self._functions_of_hook(hook))

    def on_exception(self, error: BaseException) -> None:
        """Call `on_exception` of all callbacks; exceptions that they raise are added to the error as notes."""
        for callback in self.callbacks:
            close = getattr(callback, "on_exception", None)
            if close is None:
                continue
            try:
                close(error)
            except Exception as another:  # noqa: BLE001 - the first error is what the user is to see
                error.add_note(f"  after it, {type(callback).__name__}.on_exception raised: {another!r:.200}")

    def _functions_of_hook(self, hook: str) -> list[Callable[..., None]]:
        if hook not in self._hooks:
            default = getattr(Callback, hook)
            defined = [c for c in self.callbacks if _defines_hook(c, hook, default)]
            self._hooks[hook] = [_takes_logs(getattr(callback, hook), default) for callback in defined]
        return self._hooks[hook]


def _defines_hook(callback: object, hook: str, default: Callable[..., None]) -> bool:
    """Tell whether a callback defines a hook: its class does, or a function was assigned to the object."""
    return hook in getattr(callback, "__dict__", ()) or getattr(type(callback), hook, default) is not default


def _name(error: Exception, function: Callable[..., None], args: tuple[Any, ...]) -> None:
    """Add a note to an error that says which callback raised it, and when."""
    name = getattr(function, "__qualname__", repr(function))
    counts = "".join(f" {number}" for number in args)
    text = f"the callback {name}{counts}; Variables are as the last step left them"
    if isinstance(error, GraftaxError):
        error.add_context(text)
    elif not any("the callback " in note for note in getattr(error, "__notes__", ())):
        error.add_note(f"  where: {text}")


def _takes_logs(hook: Callable[..., None], default: Callable[..., None]) -> Callable[..., None]:
    """Return the hook, after a check that it accepts the arguments of its call."""
    function = hook.__func__ if isinstance(hook, MethodType) else None
    if function is not None and default.__name__ in _fitting.get(function, ()):
        return hook
    wanted = list(inspect.signature(default).parameters)[1:]
    if (found := misfit(hook, len(wanted) - 1, ["logs"])) is not None:
        owner = getattr(hook, "__qualname__", "").rpartition(".")[0]
        raise ArgumentTypeError(
            f"the hook {f'{owner}.' if owner else ''}{found.shown}",
            f"it is called with {', '.join(wanted)}",
            f"def {default.__name__}(self, {', '.join([*wanted[:-1], 'logs=None'])})",
        )
    if function is not None:
        _fitting.setdefault(function, set()).add(default.__name__)
    return hook


_fitting: WeakKeyDictionary[Callable[..., Any], set[str]] = WeakKeyDictionary()
"""A cache of checked functions by hook, since reading a signature takes as long as a small step."""
