"""The loops that are running on a model: its metrics are used by one loop at a time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

from graftax.core.errors import StateError
from graftax.variables.graph.module import Module
from graftax.variables.state.storage import frames


class _Loop:
    """One loop of this thread; no other is the same."""

    __slots__ = ("method", "thread", "thread_name")

    def __init__(self, method: str) -> None:
        self.method = method
        self.thread = threading.get_ident()
        self.thread_name = threading.current_thread().name


_lock = threading.Lock()
_loops: WeakKeyDictionary[Any, list[_Loop]] = WeakKeyDictionary()
"""The running loops of each model, the innermost last; all of them are in one thread."""


@contextmanager
def active_loop(model: Module, method: str) -> Iterator[None]:
    """Register a loop on a model within the block.

    Args:
        model: The model.
        method: The name of the method: ``"fit"``, ``"evaluate"``, ...

    Raises:
        StateError: another thread runs a loop on the model, ``fit`` is inside of another loop, or the call is
            inside of a function that is being compiled.
    """
    loop = _Loop(method)
    try:
        _begin(model, loop)
        yield
    finally:
        try:
            _end(model, loop)
        finally:  # a Ctrl-C may have come before it had ended
            _end(model, loop)


def _begin(model: Module, loop: _Loop) -> None:
    """Note a loop that runs on a model."""
    method = loop.method
    if frames.top is not None:
        raise StateError(
            f"{method} of {_shown(model)} inside of a function that is compiled or differentiated",
            "it runs whole steps and gives numbers, and in there are none yet",
            f"{method} outside: in a callback's on_epoch_end, or after fit",
        )
    with _lock:
        around = _loops.setdefault(model, [])
        if around and around[-1].thread != loop.thread:
            other = around[-1]
            raise StateError(
                f"{method} of {_shown(model)} in the thread {loop.thread_name!r}, while its {other.method} runs in "
                f"{other.thread_name!r}",
                "both would count in the same metrics, and the numbers of both would be wrong",
                "fit(validation_data=...), or evaluate in a callback's on_epoch_end; predict may run beside; for others"
                " a copy, which has metrics of its own: copy.deepcopy(model), made before fit",
            )
        if around and method == "fit":
            raise StateError(
                f"fit of {_shown(model)} inside of its {around[-1].method}",
                "the metrics, the history and the counts of the outer loop would be those of the inner one",
                "train_on_batch, which leaves them alone; or fit after fit",
            )
        around.append(loop)


def _end(model: Module, loop: _Loop) -> None:
    """Forget a loop, which may not have been noted: it was refused, or a Ctrl-C came before."""
    with _lock:
        around = _loops.get(model, [])
        if loop in around:
            around.remove(loop)


def _shown(model: Module) -> str:
    return f"{type(model).__name__} {model.name!r}"


@contextmanager
def isolated_metrics(model: Any, method: str) -> Iterator[None]:
    """Keep the metrics of an outer loop of the model unchanged within the block, for example in a callback."""
    with active_loop(model, method):
        is_inside = len(_loops[model]) > 1
        kept = [(v, v.numpy()) for metric in model.metrics for v in metric.variables] if is_inside else []
        try:
            yield
        finally:
            for variable, value in kept:
                variable.assign(value)
