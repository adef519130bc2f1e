"""The masks of a model's outputs for a batch, without computing the outputs: for checks of targets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary, ref

from graftax.backend import registry
from graftax.layers.call_context import call_context
from graftax.layers.layer import Layer
from graftax.transforms.compile.compiled_function import CompiledFunction
from graftax.variables.calls import contexts

_functions: WeakKeyDictionary[Layer, Callable[[Any], Any]] = WeakKeyDictionary()


def masks_of(model: Layer, x: object) -> Any:
    """Return the masks of the outputs for a batch, or None. The computation is compiled, so only masks are computed."""
    if not registry.current().has("compiling"):
        return _masks(model, x)
    if model not in _functions:
        _functions[model] = _compile(model)
    return _functions[model](x)


def _compile(model: Layer) -> Callable[[Any], Any]:
    alive = ref(model)

    def run(x: object) -> Any:
        return _masks(alive(), x)

    run.__qualname__ = f"{type(model).__name__}.call"  # the log of traces names what users know
    return CompiledFunction(run)


def _masks(model: Any, x: Any) -> Any:
    with call_context(training=False) as context:
        return context.mask_of(model(x, training=False))


def read_carried_masks(y_pred: object) -> Any:
    """Return the masks that outputs carry during the call of a layer or of a step; otherwise None."""
    return contexts.top.mask_of(y_pred) if contexts.top is not None else None
