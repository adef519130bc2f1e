"""Retreat: all values of a program at one moment, to which it goes back, or is saved as, where what follows fails."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from graftax.checkpoint.trained_as_saved import set_frozen, set_trainability
from graftax.core.errors import StateError
from graftax.core.typedefs import Array
from graftax.variables.graph.module import Module, walk
from graftax.variables.random_state import RandomState
from graftax.variables.variable import Variable


class Retreat:
    """The Variables of some roots, the global seed and the states of callbacks as they are when it is made.

    It holds the buffers themselves and copies nothing: a compiled step keeps a buffer that somebody else holds.

    Args:
        roots: Modules and Variables, by name.
        states: The states of callbacks, which are only kept; None where these do not change meanwhile.
        settings: The settings that have changed during training, which are only kept, likewise. Defaults to None.

    Example:
        >>> import graftax as gx
        >>> count = gx.Variable(1.0)
        >>> retreat = Retreat({"count": count}, [])
        >>> _ = count.assign(5.0)
        >>> retreat.go_back()
        >>> float(count)
        1.0
    """

    def __init__(self, roots: Mapping[str, Any], states: list[list[Any]] | None, settings: Any = None) -> None:
        self.states, self.settings = states, settings
        variables = [v for root in roots.values() for v in variables_of(root)]
        self._values = [(v, v._gx_stored, v.trainability) for v in {id(v): v for v in variables}.values()]
        modules = [node for root in roots.values() if isinstance(root, Module) for node in walk(root)]
        self._frozen = [(node, node._gx_frozen) for node in modules if isinstance(node, Module)]
        self._random = RandomState(roots).point_of_return()

    def go_back(self) -> None:
        """Assign the values to the Variables that have others now, and freeze those that were frozen."""
        for variable, value, trainability in self._values:
            if variable._gx_stored is not value and not _are_equal(variable, value):
                variable.assign(value)
            if variable.trainability != trainability:
                set_trainability(variable, trainability)
        for module, frozen in self._frozen:
            if module._gx_frozen != frozen:
                set_frozen(module, frozen)
        self._random()


def variables_of(root: object) -> list[Variable]:
    """Return the Variables of a root.

    Raises:
        StateError: it cannot hold Variables.
    """
    if isinstance(root, Variable):
        return [root]
    if isinstance(root, Module):
        return root.variables
    if isinstance(root, list | tuple | dict):
        return [v for one in (root.values() if isinstance(root, dict) else root) for v in variables_of(one)]
    raise StateError(f"a root of type {type(root).__name__}", "it holds no Variables", "model=model")


def _are_equal(variable: Variable, value: Array) -> bool:
    """Tell whether a Variable has a value, as far as this process knows: others may have parts of it."""
    to_numpy = variable._storage.backend.arrays.to_numpy
    try:
        return np.array_equal(to_numpy(variable._gx_stored), to_numpy(value))
    except StateError:
        return False
