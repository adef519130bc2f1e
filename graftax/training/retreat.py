"""Retreat: all values of a program at one moment, to which it goes back, or is saved as, where what follows fails."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np

from graftax.checkpoint.trained_as_saved import set_frozen, set_trainability
from graftax.core.errors import StateError
from graftax.core.ours import is_ours
from graftax.core.typedefs import Array
from graftax.training.equal_values import are_equal
from graftax.training.nodes_of_roots import nodes_of
from graftax.variables.graph.module import Module
from graftax.variables.random_state import RandomState
from graftax.variables.trainability import Trainability
from graftax.variables.variable import Variable


class Retreat:
    """The Variables of some roots, their Python state, the global seed and the states of callbacks at one moment.

    It holds the buffers themselves and copies none: a compiled step keeps a buffer that somebody else holds. What a
    `get_state` of a user's Module returns is copied.

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
        self._values: list[tuple[Variable, Array | None, Trainability]] = [
            (v, v._gx_stored, v.trainability) for v in {id(v): v for v in variables}.values()
        ]
        modules = [node for node in nodes_of(roots) if isinstance(node, Module)]
        self._frozen = [(node, node._gx_frozen) for node in modules]
        self._told = [(node, _copy(node.get_state())) for node in modules if _tells_state(node)]
        self._roots = roots
        self._random, self._stream = RandomState(roots).point_of_return(), RandomState(roots).get_state()

    def release(self) -> None:
        """Hold nothing any longer: whoever looks at the program may keep this object for a while."""
        self._values, self._frozen, self._told = [], [], []

    def forget_unchanged(self) -> None:
        """Hold no longer what Variables have still, so that a compiled step may take their buffers."""
        self._values = [(v, None if v._gx_stored is value else value, flag) for v, value, flag in self._values]

    def changed(self, paths: Mapping[int, str]) -> list[str]:
        """Return what is different now: Variables, Modules with a Python state, and the global random stream.

        Args:
            paths: The paths of Variables and Modules, by id.
        """
        nodes: list[Variable | Module] = [
            *(v for v, value, _ in self._values if not _has_value(v, value)),
            *(module for module, state in self._told if not are_equal(module.get_state(), state)),
        ]
        draws = RandomState(self._roots).get_state() != self._stream
        found = [paths.get(id(node)) or (node.path if isinstance(node, Variable) else node.name) for node in nodes]
        return found + ["the global random stream"] * draws

    def go_back(self) -> None:
        """Assign what Variables had, give Modules their Python state, and freeze what was frozen."""
        for variable, value, trainability in self._values:
            if value is not None and not _has_value(variable, value):
                variable.assign(value)
            if variable.trainability != trainability:
                set_trainability(variable, trainability)
        for module, frozen in self._frozen:
            if module._gx_frozen != frozen:
                set_frozen(module, frozen)
        for module, state in self._told:
            if state is not None and not are_equal(module.get_state(), state):
                module.set_state(_copy(state))
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


def _tells_state(module: Module) -> bool:
    """Tell whether a Module has a `get_state` and `set_state` of the user's: training changes none of graftax."""
    if Module.get_state is type(module).get_state or Module.set_state is type(module).set_state:
        return False
    return not is_ours(next(kind for kind in type(module).__mro__ if "get_state" in vars(kind)))


_ATOMS = frozenset({bool, int, float, complex, str, bytes, type(None)})


def _copy(value: Any) -> Any:
    """Return a copy of Python state; `copy.deepcopy` alone takes long for large dicts."""
    kind = type(value)
    if kind in _ATOMS:
        return value
    if kind is dict:
        return {key: _copy(item) for key, item in value.items()}
    return kind(map(_copy, value)) if kind in (list, tuple) else copy.deepcopy(value)


def _has_value(variable: Variable, value: Array | None) -> bool:
    """Tell whether a Variable has a value, as far as this process knows: others may have parts of it."""
    if value is None or variable._gx_stored is value:
        return True
    to_numpy = variable._storage.backend.arrays.to_numpy
    try:
        return np.array_equal(to_numpy(variable._gx_stored), to_numpy(value))
    except StateError:
        return False
