"""The loops that are running on a model: its metrics are used by one loop at a time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

from graftax.core.errors import StateError
from graftax.training.held_metrics import every_metric
from graftax.variables.graph.module import Module
from graftax.variables.state.storage import frames


class _Loop:
    """One loop of this thread; no other is the same."""

    __slots__ = ("is_stepping", "method", "thread", "thread_name")

    def __init__(self, method: str) -> None:
        self.method = method
        self.is_stepping = False
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
            f"{method} of {_title_of(model)} inside of a function that is compiled or differentiated",
            "it runs whole steps and returns numbers, and there are no numbers yet while a function is compiled",
            f"{method} outside: in a callback's on_epoch_end, or after fit",
        )
    with _lock:
        around = _loops.setdefault(model, [])
        if around and around[-1].thread != loop.thread:
            other = around[-1]
            raise StateError(
                f"{method} of {_title_of(model)} in the thread {loop.thread_name!r}, while its {other.method} runs in "
                f"{other.thread_name!r}",
                "both would count in the same metrics, and the numbers of both would be wrong",
                "fit(validation_data=...), or evaluate in a callback's on_epoch_end; predict may run beside; for others"
                " a copy, which has metrics of its own: copy.deepcopy(model), made before fit",
            )
        if around and method == "fit":
            raise StateError(
                f"fit of {_title_of(model)} inside of its {around[-1].method}",
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


def is_in_loop(model: Module) -> bool:
    """Tell whether a loop of a model runs around this call, which comes from a callback, for example."""
    with _lock:
        around = _loops.get(model, [])
        return bool(around) and around[-1].thread == threading.get_ident()


def _title_of(model: Module) -> str:
    return f"{type(model).__name__} {model.name!r}"


@contextmanager
def isolated_metrics(model: Module, method: str) -> Iterator[None]:
    """Keep the metrics of outer loops unchanged within the block, for example in a callback of fit.

    These are loops of the model, and those of other models that it shares metrics with. Metrics that are made within
    the block have counted nothing in the outer loop.
    """
    with active_loop(model, method):
        around = _models_around(model)
        is_inside = any(one is model for one in around)
        before = {id(metric): metric for one in around for metric in every_metric(one)}
        kept = {key: [(v, v.numpy()) for v in metric.variables] for key, metric in before.items()}
        try:
            yield
        finally:
            for metric in every_metric(model) if around else ():
                for variable, value in kept.get(id(metric), ()):
                    variable.assign(value)
                if id(metric) not in kept and is_inside:
                    metric.reset()


def _models_around(model: Module) -> list[Any]:
    """Return the models whose loops are around the innermost loop of a model in this thread, itself perhaps."""
    me = threading.get_ident()
    with _lock:
        busy = [(one, len(loops)) for one, loops in _loops.items() if loops and loops[-1].thread == me]
    return [one for one, count in busy if count > (one is model)]


@contextmanager
def stepping(model: Module) -> Iterator[None]:
    """Register that the innermost loop of a model takes steps, with losses and metrics that must stay."""
    loop = _loops[model][-1]
    loop.is_stepping = True
    try:
        yield
    finally:
        loop.is_stepping = False


def refuse_compile_between_steps(model: Module) -> None:
    """Raise if a loop is taking steps on a model, and so has losses, metrics and an optimizer at hand.

    Raises:
        StateError: there is such a loop.
    """
    with _lock:
        loop = next((one for one in _loops.get(model, []) if one.is_stepping), None)
    if loop is not None:
        raise StateError(
            f"compile of {_title_of(model)} between two steps of its {loop.method}",
            "the loop would go on with the optimizer, loss and metrics that it has, and show them as the new ones",
            "compile in on_epoch_begin or on_epoch_end, or after the loop",
        )
