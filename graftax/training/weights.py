"""Copies of the weights of a model that are kept."""

from __future__ import annotations

from graftax.variables.graph.module import Module
from graftax.variables.variable import Variable


def weights_of(model: Module) -> list[Variable]:
    """Return the weights and moving statistics below a Module, trainable or not, in their order."""
    return [v for v in model.variables if v.role in ("weight", "state")]


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
