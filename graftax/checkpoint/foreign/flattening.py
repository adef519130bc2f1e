"""Flatten → Dense: torch flattens channels first, graftax channels last, so rows of weights are reordered."""

from __future__ import annotations

from typing import Any

import numpy as np

from graftax.checkpoint.arrays import HostArray
from graftax.checkpoint.foreign.feature_orders import FeatureOrders, feature_orders
from graftax.checkpoint.foreign.forms import Order
from graftax.checkpoint.foreign.layer_rules import rule_of
from graftax.checkpoint.foreign.unit import Choice
from graftax.core import user_line
from graftax.variables.graph.module import Module

_ROWS = ("kernel", "gamma", "beta", "moving_mean", "moving_variance", "alpha")
_COLUMNS = ("kernel", "bias")
_KINDS = {"reshape.Flatten": "reshape", "reshape.Reshape": "reshape", "conv.Conv": "image", "dense.Dense": "dense"}


class Flattening:
    """The changes of order that the weights of a module need.

    Args:
        module: The module. A warning names the layers for which it could not be found out whether there is one.
    """

    def __init__(self, module: Module) -> None:
        found = feature_orders(module)
        self._orders = found or FeatureOrders()
        if found is None and _may_flatten(module):
            _warn("the call of the module could not be followed")
        elif self._orders.open:
            _warn(f"{_names(self._orders.open)}: what comes in could not be followed through the calls before")
        if self._orders.doubtful:
            _warn_of_images(_names(self._orders.doubtful))

    def reorder(self, layer: object, name: str, choices: tuple[Choice, ...]) -> tuple[Choice, ...]:
        """Return the ways to make a Variable of a layer, with its rows and columns in the order that they have here."""
        rows = self._orders.rows.get(id(layer)) if name in _ROWS else None
        columns = self._orders.columns.get(id(layer)) if name in _COLUMNS else None
        for order, axis in ((rows, 0), (columns, -1)):
            if order is not None:
                choices = tuple(_reorder(choice, order, axis) for choice in choices)
        return choices


def _may_flatten(module: Module) -> bool:
    """Tell whether a module has a Flatten, or a Dense with rows for each place of an image."""
    kinds: list[tuple[str | None, Any]] = [(rule_of(node, _KINDS), node) for node in module.submodules]
    channels = {int(node.filters) for kind, node in kinds if kind == "image"}
    rows = [int(node.kernel.shape[0]) for kind, node in kinds if kind == "dense"]
    return any(kind == "reshape" for kind, _ in kinds) or any(
        number > few and number % few == 0 for number in rows for few in channels
    )


def _names(layers: dict[int, Any]) -> str:
    return ", ".join(getattr(one, "path", "") or one.name for one in layers.values())


def _warn(why: str) -> None:
    user_line.warn(
        f"load_foreign: {why}. torch flattens images channels first, and graftax channels last, so weights behind a "
        "Flatten or Reshape may have rows in another order: compare the outputs with those of torch. Instead: a "
        "Flatten between layers, in a model of which call needs no values"
    )


def _warn_of_images(names: str) -> None:
    user_line.warn(
        f"load_foreign: {names}: a Reshape makes an image of the result, and no layer behind it tells whether torch "
        "has the channels of that image first. The columns were taken as they are: compare the outputs with those of "
        "torch. "
        "Instead, if it has: Reshape((channels, height, width)) and then Permute((2, 3, 1))"
    )


def _reorder(choice: Choice, order: Order, axis: int) -> Choice:
    def convert(*arrays: HostArray) -> HostArray:
        found = choice.convert(*arrays)
        if found.shape[axis] != order.size:
            raise ValueError("another size")
        return np.take(found, order, axis)

    what = "features as Flatten has them" if axis == 0 else "features as a Reshape to an image takes them"
    return Choice(choice.names, convert, f"{what}, channels last")
