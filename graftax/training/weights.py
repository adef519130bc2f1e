"""The weights of a model as plain arrays, in their order; copies of them that are kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from graftax.core.errors import ArgumentTypeError, ShapeError
from graftax.variables.graph.module import Module
from graftax.variables.variable import Variable


def weights_of(model: Module) -> list[Variable]:
    """Return the weights and moving statistics below a Module, trainable or not, in their order."""
    return [v for v in model.variables if v.role in ("weight", "state")]


def assign_weights(variables: Sequence[Variable], values: Iterable[Any]) -> None:
    """Assign arrays to Variables, all or none.

    Raises:
        ArgumentTypeError: there are more or fewer arrays than Variables.
        ShapeError: a shape differs.
    """
    if isinstance(values, dict | str) or not isinstance(values, Iterable):
        raise ArgumentTypeError(
            f"set_weights got {type(values).__name__}", "it takes a list of arrays", "set_weights(model.get_weights())"
        )
    arrays = [np.asarray(value) for value in values]
    if len(arrays) != len(variables):
        hint = (
            "call the model on an example first: model(x[:1])" if not variables else "model.get_weights() of its like"
        )
        raise ArgumentTypeError(
            f"set_weights got {len(arrays)} arrays for {len(variables)} weights", "each weight gets one array", hint
        )
    for variable, array in zip(variables, arrays, strict=True):
        if tuple(array.shape) != tuple(variable.shape):
            raise ShapeError(
                f"set_weights got an array of shape {tuple(array.shape)} for {variable.path!r}, of shape "
                f"{tuple(variable.shape)}",
                "weights keep their shape, and come in the order of model.get_weights()",
                "the arrays of a model of the same layers and sizes",
            )
    for variable, array in zip(variables, arrays, strict=True):
        variable.assign(array)


class KeptWeights(Module):
    """A copy of the weights of a model, which is saved with what it belongs to.

    Args:
        model: The model; it is built.

    Example:
        >>> import graftax as gx
        >>> w = gx.Variable([1.0])
        >>> model = gx.Module()
        >>> model.w = w
        >>> kept = KeptWeights(model)
        >>> _ = w.assign([2.0])
        >>> kept.restore(model)
        >>> w.numpy().tolist()
        [1.0]
    """

    def __init__(self, model: Module) -> None:
        super().__init__()
        self.kept = [Variable(v.numpy(), trainable=False, role="state", dtype=v.dtype) for v in weights_of(model)]

    def update(self, model: Module) -> None:
        """Copy the weights as they are now."""
        for kept, variable in zip(self.kept, weights_of(model), strict=True):
            kept.assign(variable.numpy())

    def restore(self, model: Module) -> None:
        """Give the model the weights that are kept."""
        for kept, variable in zip(self.kept, weights_of(model), strict=True):
            variable.assign(kept.numpy())
