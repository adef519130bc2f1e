"""The inputs that a `call` takes: how to build a layer for them, and what to write where all come as one argument."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from inspect import Parameter
from typing import Any

from graftax.core.typedefs import Calls

_BY_PLACE = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_NO_INPUTS = ("training", "mask")


def inputs_of_call(layer: Calls[Any]) -> list[Parameter]:
    """Return the parameters of the `call` of a layer that get inputs: neither ``training``, nor masks."""
    found = inspect.signature(layer.call).parameters
    return [
        one
        for name, one in found.items()
        if one.kind in (*_BY_PLACE, Parameter.KEYWORD_ONLY)
        and name not in _NO_INPUTS
        and name.removesuffix("_mask") not in found.keys() - {name}
    ]


def building_line(layer: Calls[Any]) -> str:
    """Return the line that builds a layer, with the arguments that its `call` needs.

    Example:
        >>> import graftax as gx
        >>> building_line(gx.layers.Dense(1))
        'model.build_for(x)'
    """
    needed = [one for one in inputs_of_call(layer) if one.default is one.empty]
    shown = [f"{one.name}={one.name}" if one.kind is one.KEYWORD_ONLY else one.name for one in needed]
    return f"model.build_for({', '.join(shown) if len(needed) > 1 else 'x'})"


def spread_inputs(layer: Calls[Any], x: object) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """Return the arguments of a `call` that takes several inputs, from all of them; None if they do not fit.

    Args:
        layer: The layer.
        x: A tuple or a list of inputs, or a dict with the names of arguments.
    """
    parameters = inputs_of_call(layer)
    needed = [one.name for one in parameters if one.default is one.empty]
    by_place = [one for one in parameters if one.kind in _BY_PLACE]
    if len(needed) < 2:
        return None
    if isinstance(x, list | tuple) and len(needed) <= len(x) <= len(by_place):
        return tuple(x), {}
    if isinstance(x, Mapping) and set(needed) <= set(x) <= {one.name for one in parameters}:
        return (), dict(x)
    return None


def line_for_one_argument(layer: Calls[Any], args: Sequence[Any]) -> str:
    """Return what to write if all inputs came as one argument, and the `call` takes several; empty if not so.

    Args:
        layer: The layer.
        args: The arguments that it was called with.
    """
    names = [one.name for one in inputs_of_call(layer)]
    if len(names) < 2 or len(args) != 1 or not isinstance(args[0], list | tuple | Mapping):
        return ""
    by_name = isinstance(args[0], Mapping)
    alone = "layer(**inputs)" if by_name else "layer(*inputs)"
    if not hasattr(layer, "train_step"):
        return alone
    parts = [f"inputs[{name!r}]" for name in names if name in args[0]] if by_name else ["inputs"]
    taken = ", ".join(name for name in names if name in args[0]) if by_name else ", ".join(names[: len(args[0])])
    if not taken:
        taken, parts = "a, b", ["inputs[...]", "inputs[...]"]
    return f"def call(self, inputs): {taken} = {', '.join(parts)}"
