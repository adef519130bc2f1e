"""Copying and restoring the weights of a model, for callbacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graftax.variables.graph.module import Module
from graftax.variables.variable import Variable


def weights_of(model: Module) -> list[Variable]:
    """Return the weights and moving statistics below a Module, trainable or not, in their order."""
    return [v for v in model.variables if v.role in ("weight", "state")]


def restore_weights(model: Module, values: Sequence[Any]) -> None:
    """Assign values that were copied from `weights_of` the same model."""
    for variable, value in zip(weights_of(model), values, strict=True):
        variable.assign(value)
