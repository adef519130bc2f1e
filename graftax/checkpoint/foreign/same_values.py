"""Which layers made a value, also where it was handed into or out of other layers."""

from __future__ import annotations

from typing import Any

from graftax.checkpoint.foreign.layer_rules import rule_of
from graftax.core.typedefs import VariableLike
from graftax.ops.symbolic import Origin, Symbolic, leaves
from graftax.variables.graph.module import Module

_BY_FEATURE = {
    "batch_normalization.BatchNormalization": True,
    "layer_normalization.LayerNormalization": True,
    "rms_normalization.RMSNormalization": True,
    "relu_layers.PReLU": True,
}


class SameValues:
    """Values that are one: an argument of a layer inside of it and outside, and its result."""

    def __init__(self) -> None:
        self._other: dict[tuple[int, int], Symbolic] = {}

    def put(self, value: Symbolic, other: Symbolic) -> None:
        """Note that a value is another one, which is nearer to what made it."""
        self._other[value.key] = other

    def makers_of(self, value: Symbolic) -> list[Any] | None:
        """Return the Dense layers whose results are a value, behind what works on each element.

        An input has none. None if something else makes it, such as a recurrent layer.
        """
        waiting, found, seen = [value], [], set()
        while waiting:
            value = waiting.pop()
            while value.key in self._other:
                value = self._other[value.key]
            layer = value.origin.callee
            if value.origin.is_input or value.key in seen:
                continue
            seen.add(value.key)
            if not isinstance(layer, str) and rule_of(layer, {"dense.Dense": True}):
                found.append(layer)
                continue
            before = list(value.origin.parents())
            if any(one.shape != value.shape for one in before) or not _is_by_element(value.origin):
                return None
            waiting += before
        return found


def _is_by_element(origin: Origin) -> bool:
    """Return True if a call gives each element from the one in its place, as far as shapes tell."""
    if isinstance(origin.callee, str):
        return not any(isinstance(leaf, VariableLike) for leaf in leaves((origin.args, origin.kwargs)))
    return bool(rule_of(origin.callee, _BY_FEATURE)) or not has_weights(origin.callee)


def has_weights(layer: Module) -> bool:
    """Return True if a layer has weights, or moving statistics."""
    return any(variable.role in ("weight", "state") for variable in layer.variables)


def axes_of(name: str, origin: Origin, rank: int) -> tuple[int, ...] | None:
    """Return, for an op that moves axes, the axis that each axis was before; None if its arguments do not tell."""
    given = [*origin.args[1:], *origin.kwargs.values()]
    axes = list(range(rank))
    try:
        if name == "transpose":
            return tuple(one % rank for one in given[0]) if given and given[0] is not None else tuple(axes[::-1])
        if name == "moveaxis":
            axes.insert(given[1] % rank, axes.pop(given[0] % rank))
            return tuple(axes)
        if name == "swapaxes":
            one, other = (axis % rank for axis in given)
            axes[one], axes[other] = other, one
            return tuple(axes)
    except (TypeError, IndexError, ValueError):
        return None
    return None
