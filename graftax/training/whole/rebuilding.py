"""Rebuilding a model from its description. No code of a description is run or imported."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from graftax.core import tree
from graftax.core.errors import CorruptCheckpoint, GraftaxError
from graftax.layers.input_layer import InputLayer, symbolic_input
from graftax.layers.policy import DTypePolicy
from graftax.ops.symbolic import Spec, map_leaves
from graftax.ops.table import OPS
from graftax.reparam.shared import Shared
from graftax.training.graph import Operand, Result, function_of
from graftax.training.whole.adapted_layers import AdaptedLayers
from graftax.training.whole.policies import Policies
from graftax.training.whole.selectors import rebuild_regex, rebuild_selector
from graftax.training.whole.shared_weights import object_at
from graftax.training.wired import Wired
from graftax.variables.graph.module import Module
from graftax.variables.variable import Variable

_DTYPES = frozenset("bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 complex64 complex128".split())
_DTYPES |= {"float16", "float32", "float64"}


class Rebuilding:
    """Rebuilds described objects.

    Args:
        find: Returns the class or function of a name, or raises.
        policies: Gives layers their dtype policies.
        adapted: Sets the states that layers computed from data.
    """

    def __init__(self, find: Callable[[str], Any], policies: Policies, adapted: AdaptedLayers) -> None:
        self._find = find
        self._policies = policies
        self._adapted = adapted
        self.made: dict[int, Any] = {}
        """What was made so far, by its number."""
        self.model: Module | None = None
        """The model, once it is made, to which paths of tied weights belong."""

    def value(self, described: object) -> Any:
        """Return the object of a description.

        Raises:
            CorruptCheckpoint: it is not a valid description.
            GraftaxError: a class no longer accepts the saved arguments.
        """
        if not isinstance(described, list):
            return described
        word, *rest = described
        try:
            make = _MAKERS[word]
            return make(self, *rest)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            if isinstance(error, GraftaxError):
                raise
            raise CorruptCheckpoint(
                f"the description of a model has {described!r:.80}",
                f"that cannot be read: {error}",
                "another copy of the file",
            ) from error

    def _values(self, described: list[Any]) -> list[Any]:
        return [self.value(one) for one in described]

    def _dict(self, pairs: list[Any]) -> dict[Any, Any]:
        return {key: self.value(one) for key, one in pairs}

    def _array(self, dtype: str, shape: list[int], data: bytes) -> Any:
        if dtype not in _DTYPES or math.prod(shape) * np.dtype(dtype).itemsize != len(data):
            raise ValueError("an array of another size")
        return np.frombuffer(data, dtype).reshape(shape).copy()

    def _texts(self, shape: list[int], texts: list[str]) -> Any:
        if not all(isinstance(text, str) for text in texts):
            raise ValueError("an array of texts with something else in it")
        return np.array(texts, str).reshape(shape)

    def _variable(self, number: int, shape: list[int], dtype: str, trainable: bool, role: str) -> Variable:
        made = Variable(np.zeros(shape, dtype), trainable=trainable, role=role)
        self.made[number] = made
        return made

    def _object(self, number: int, kind: str, *rest: Any) -> Any:
        with self._policies.under_policy(number):
            made = self.made[number] = _OBJECTS[kind](self, *rest)
        self._policies.give(number, made)
        self._adapted.give(number, made, self.value)
        return made

    def _shared(self, path: str, transpose: bool) -> Shared:
        if self.model is None:
            raise ValueError(f"the weight {path!r} of a model that is not there")
        return Shared(object_at(self.model, path), transpose)

    def _named(self, name: str) -> Any:
        return self._find(name)

    def _plain(self, name: str, args: list[Any], kwargs: list[Any]) -> Any:
        return self._find(name)(*self._values(args), **self._dict(kwargs))

    def _sequential(self, name: str, settings: list[Any], declared: Any, layers: list[Any]) -> Any:
        kind = self._find(name)
        declared = self.value(declared)
        front = [] if declared is None else [InputLayer(declared[0][1:], declared[1], declared[0][0], declared[2])]
        given, policy = settings
        if not (isinstance(kind, type) and issubclass(kind, Wired) and kind._gx_in_a_row):
            raise ValueError(f"{name} is no Sequential")
        return kind([*front, *self._values(layers)], name=given, dtype=policy)

    def _graph(
        self,
        name: str,
        settings: list[Any],
        layers: list[Any],
        operands: list[Any],
        steps: list[Any],
        inputs: object,
        outputs: object,
    ) -> Any:
        kind = self._find(name)
        if not (isinstance(kind, type) and issubclass(kind, Wired)):
            raise ValueError(f"{name} is no Model")
        made, held = self._values(layers), self._values(operands)
        values: dict[Result, Any] = {}

        def value_of(leaf: object) -> Any:
            if isinstance(leaf, Result):
                return values[leaf]
            return held[leaf.number] if isinstance(leaf, Operand) else leaf

        for number, (callee, args, kwargs, results, is_input) in enumerate(steps):
            if isinstance(callee, str) and callee not in OPS and callee != "subscript":
                raise ValueError(f"there is no op {callee!r}")
            called = function_of(callee) if isinstance(callee, str) else made[callee]
            if is_input and isinstance(called, InputLayer):
                out = symbolic_input(called)
            else:
                out = called(*map_leaves(value_of, self.value(args)), **map_leaves(value_of, self.value(kwargs)))
            if len(tree.flatten(out)) != len(tree.flatten(self.value(results))):
                raise ValueError(f"step {number} gives another number of values than it did")
            values.update((Result(number, place), one) for place, one in enumerate(tree.flatten(out)))
        given, policy = settings
        ends = (map_leaves(value_of, self.value(inputs)), map_leaves(value_of, self.value(outputs)))
        return kind(inputs=ends[0], outputs=ends[1], name=given, dtype=policy)


def _bind(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return partial(function, *args, **kwargs)


_OBJECTS: dict[str, Callable[..., Any]] = {
    "named": Rebuilding._named,
    "made": Rebuilding._plain,
    "sequential": Rebuilding._sequential,
    "graph": Rebuilding._graph,
}
_MAKERS: dict[str, Callable[..., Any]] = {
    "list": lambda self, parts: self._values(parts),
    "tuple": lambda self, parts: tuple(self._values(parts)),
    "dict": Rebuilding._dict,
    "slice": lambda self, parts: slice(*self._values(parts)),
    "ellipsis": lambda self: Ellipsis,
    "result": lambda self, step, place: Result(step, place),
    "operand": lambda self, number: Operand(number),
    "set": lambda self, parts: set(self._values(parts)),
    "frozenset": lambda self, parts: frozenset(self._values(parts)),
    "member": lambda self, name, member: self._find(name)[member],
    "partial": lambda self, *parts: _bind(*self._values(list(parts))),
    "selector": lambda self, *parts: rebuild_selector(self.value, *parts),
    "regex": lambda self, pattern, flags: rebuild_regex(pattern, flags),
    "shared": Rebuilding._shared,
    "spec": lambda self, shape, dtype: Spec(tuple(shape), dtype),
    "policy": lambda self, name: DTypePolicy(name),
    "array": Rebuilding._array,
    "texts": Rebuilding._texts,
    "seen": lambda self, number: self.made[number],
    "variable": Rebuilding._variable,
    "object": Rebuilding._object,
}
