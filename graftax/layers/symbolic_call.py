"""Calls of layers on values that are not there yet: recorded, with the weights made and the shapes found."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from graftax.backend import registry
from graftax.core import tree
from graftax.core.errors import GraftaxError, MissingAttributeError
from graftax.core.short_traceback import shorten
from graftax.layers import building, needed_sizes
from graftax.layers.undoing import undone_if_raised
from graftax.ops.dispatch import op_function
from graftax.ops.symbolic import (
    Origin,
    Symbolic,
    fill_zeros,
    leaves,
    map_leaves,
    origins_behind,
    record,
    refuse_symbolic,
)
from graftax.ops.symbolic_array import SymbolicArray, subscript
from graftax.transforms.lifting.frames import Abstract
from graftax.variables import masks
from graftax.variables.calls import contexts
from graftax.variables.state import storage

_calls: weakref.WeakKeyDictionary[Any, list[weakref.ref[Origin]]] = weakref.WeakKeyDictionary()


def record_call(layer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return what stands for the output of a layer; its weights are made, if they are not there.

    Raises:
        ArgumentError: weights depend on a size that is not known.
    """
    was_built = building.is_built(layer)
    done: list[int] = []

    def evaluate(size: int) -> Any:
        out = _abstract_output(layer, args, kwargs, size)
        done.append(size)
        return out

    try:
        with undone_if_raised(layer):
            out = record(layer, layer._gx_title(), args, kwargs, evaluate)
    except GraftaxError as error:
        if not was_built and len(done) == 1:  # the weights that one size made do not fit the other one
            is_stateful = any(getattr(one, "stateful", False) is True for one in (layer, *layer.submodules))
            explain = needed_sizes.needs_batch_size if is_stateful else needed_sizes.needs_size
            raise explain(layer._gx_title(), (args, kwargs)) from None
        shorten(error)
        raise
    if not was_built:
        layer._gx_input_shape = _with_unknown(layer._gx_input_shape, args)
    for leaf in leaves(out)[:1]:
        note(leaf.origin)
    return out


def _abstract_output(layer: Any, args: tuple[Any, ...], kwargs: dict[str, Any], size: int) -> Any:
    """Return what a call gives for arrays of such sizes, computing nothing where the backend can do without."""

    def run() -> Any:
        out = layer(*fill_zeros(args, size), **fill_zeros(kwargs, size))
        refuse_symbolic(f"the call of {layer._gx_title()}", out)
        return out

    return _eval_abstractly(run)


def _eval_abstractly(run: Callable[[], Any]) -> Any:
    backend = registry.current()
    with contexts.replaced(()):
        if not backend.has("tracing"):
            return run()
        transforms = backend.tracing

        def run_in_frame() -> Any:
            with storage.frames.entered(Abstract(storage.frames.top, transforms.level())):
                return run()

        return transforms.eval_shape(run_in_frame)


def _with_unknown(shape: object, args: tuple[Any, ...]) -> Any:
    """Return the shape that a layer was built for with None where the size is not known."""
    if len(args) == 1 and isinstance(args[0], Symbolic) and isinstance(shape, tuple) and len(shape) == args[0].ndim:
        return args[0].shape
    if len(args) == 1 and isinstance(args[0], list | tuple | dict):
        return map_leaves(lambda leaf: leaf.shape if isinstance(leaf, Symbolic) else None, args[0])
    return shape


def carries_mask(value: object) -> bool:
    """Return True if an array that stands in a graph, or one of a structure of these, will carry a mask."""
    wanted = [leaf for leaf in leaves(value) if isinstance(leaf, Symbolic)]
    origins = origins_behind(wanted)
    if not any(getattr(origin.callee, "_gx_makes_mask", False) for origin in origins):
        return False
    masked: list[bool] = []

    def run() -> Any:
        values: dict[int, list[Any]] = {}

        def value_of(leaf: object) -> Any:
            return values[leaf.origin.number][leaf.place] if isinstance(leaf, Symbolic) else leaf

        for origin in origins:
            number = origin.number
            if origin.is_input:
                values[number] = tree.flatten(fill_zeros(results_of(origin), 8))
                continue
            name = origin.callee
            called = name if not isinstance(name, str) else subscript if name == "subscript" else op_function(name)
            values[number] = tree.flatten(
                called(*map_leaves(value_of, origin.args), **map_leaves(value_of, origin.kwargs))
            )
        masked.extend(masks.mask_of(value_of(leaf)) is not None for leaf in wanted)

    _eval_abstractly(run)
    return any(masked)


# --- layer.input, layer.output ----------------------------------------------------------------------------------------


def note(origin: Origin) -> None:
    """Let `only_call` find a call, as long as something needs its results."""
    _calls.setdefault(origin.callee, []).append(weakref.ref(origin))


def results_of(origin: Origin) -> Any:
    """Return what stands for the results of a call."""
    return SymbolicArray(origin, 0).results_like(origin)


def only_call(layer: Any, name: str) -> Origin:
    """Return the call of a layer that graphs know.

    Args:
        layer: The layer.
        name: The attribute that asks.

    Raises:
        MissingAttributeError: there is none, or there are several.
    """
    found = _origins_of(layer)
    above = layer._gx_owner
    while not found and above is not None:
        if hasattr(above, "_gx_record_again"):
            above._gx_record_again()
            found = _origins_of(layer)
        above = above._gx_owner
    if len(found) == 1:
        return found[0]
    title = layer._gx_title()
    if not found:
        raise MissingAttributeError(
            f"{title} has no {name}",
            "layers are made of sizes, and have one where they are called on a graftax.Input",
            f"y = {layer.name}(graftax.Input(shape)); or, for shapes, {layer.name}.compute_output_shape((None, 3))",
        )
    raise MissingAttributeError(
        f"{title} has {len(found)} calls, and no single {name}",
        "it is shared: each call has its own",
        "the value that the call gave, kept when it was made",
    )


def _origins_of(layer: object) -> list[Origin]:
    return [origin for ref in _calls.get(layer, ()) if (origin := ref()) is not None]
