"""Descriptions: the architecture of a model as plain values for a file."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from enum import Enum
from functools import partial
from typing import Any, NoReturn

import numpy as np

from graftax.backend import registry
from graftax.core.errors import ArgumentError
from graftax.core.selectors import Selector
from graftax.core.typedefs import VariableLike
from graftax.layers.input_layer import InputLayer
from graftax.layers.policy import DTypePolicy
from graftax.ops.symbolic import Spec
from graftax.training.graph import Operand, Result
from graftax.training.whole.public_classes import is_public_selector, name_of
from graftax.training.whole.selectors import describe_regex, describe_selector
from graftax.training.wired import Wired
from graftax.variables.graph.module import Module
from graftax.variables.variable import Variable

_ATOMS = (type(None), bool, int, float, complex, str, bytes)


class Describing:
    """Describes objects. An object that occurs again is described by a reference.

    Numbers and texts are described by themselves, other values by a list of a keyword and its data.
    """

    def __init__(self) -> None:
        self._seen: dict[int, tuple[int, Any]] = {}  # the object is kept alive, so that no other one gets its id
        self.names: dict[str, Any] = {}
        """The classes and functions that were found, by name."""

    @property
    def objects(self) -> dict[int, object]:
        """Return what was described, by its number."""
        return dict(self._seen.values())

    def value(self, value: object, where: str) -> Any:
        """Return the description of a value.

        Args:
            value: The value to describe.
            where: Its name in messages.

        Raises:
            ArgumentError: the value could not be rebuilt.
        """
        if type(value) in _ATOMS:
            return value
        if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
            word = "list" if isinstance(value, list) else "tuple"
            return [word, [self.value(part, f"{where}[{i}]") for i, part in enumerate(value)]]
        if isinstance(value, Mapping):
            return ["dict", [[key, self.value(part, f"{where}[{key!r}]")] for key, part in value.items()]]
        if isinstance(value, set | frozenset):
            return [type(value).__name__, sorted((self.value(part, where) for part in value), key=repr)]
        if isinstance(value, slice):
            return ["slice", [self.value(part, where) for part in (value.start, value.stop, value.step)]]
        if isinstance(value, Result):
            return ["result", value.step, value.place]
        if isinstance(value, Operand):
            return ["operand", value.number]
        if isinstance(value, Spec):
            return ["spec", list(value.shape), value.dtype]
        if isinstance(value, DTypePolicy):
            return ["policy", value.name]
        if isinstance(value, Selector) and not is_public_selector(value):
            return ["selector", *describe_selector(value, self.value, where)]
        if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
            return ["regex", *describe_regex(value)]
        if value is Ellipsis:
            return ["ellipsis"]
        if isinstance(value, Enum):
            return ["member", self._name(type(value), where), value.name]
        if isinstance(value, partial):
            parts = (value.func, value.args, value.keywords)
            return ["partial", *(self.value(part, f"{where}.{value.func!r:.40}") for part in parts)]
        if isinstance(value, np.ndarray | np.generic) or (registry.current().arrays.is_array(value)):
            return self._array(value, where)
        if id(value) in self._seen:
            return ["seen", self._seen[id(value)][0]]
        number = len(self._seen)
        self._seen[id(value)] = number, value
        if isinstance(value, Variable):
            dtype, role = str(value.dtype), value.role
            return ["variable", number, list(value.shape), dtype, value.trainability.made, role]
        return ["object", number, *self._object(value, where)]

    def _array(self, value: Any, where: str) -> Any:
        host = np.asarray(registry.current().arrays.to_numpy(value))
        host = host.astype(host.dtype.newbyteorder("="), copy=False)
        if host.dtype.kind == "U":
            return ["texts", list(host.shape), host.ravel().tolist()]
        if host.dtype.kind not in "biufc":
            self._refuse(where, f"an array of {host.dtype}", "files have no format for this dtype")
        return ["array", str(host.dtype), list(host.shape), host.tobytes()]

    def _object(self, value: object, where: str) -> list[Any]:
        if isinstance(value, type | Selector) or not hasattr(value, "__dict__") or inspect.isroutine(value):
            return ["named", self._name(value, where)]
        kind = self._name(type(value), where)
        if isinstance(value, Wired) and value._gx_graph is not None:
            return ["graph", kind, self._settings(value), *self._graph(value, where)]
        if isinstance(value, Wired) and value._gx_in_a_row:
            row: Any = value
            layers = [self.value(layer, f"{where}.layers[{i}]") for i, layer in enumerate(row.layers)]
            declared = None if row._gx_declared is None else list(row._gx_declared)
            return ["sequential", kind, self._settings(value), self.value(declared, where), layers]
        if isinstance(value, VariableLike):
            self._refuse(where, f"a weight that {kind} computes", "it is made by a creator, for one layer")
        if isinstance(value, Module):
            if not value._gx_made_with.known:
                self._refuse(where, f"{value!r:.60}", "it is a copy, which lost what its constructor was given")
            args, kwargs = value._gx_made_with.args, value._gx_made_with.kwargs
            if isinstance(value, InputLayer):  # whose dtype may have come from the policy of that time
                args, kwargs = (
                    (),
                    {**self._by_attribute(value, where), "dtype": value.input_dtype, "name": value._gx_name},
                )
        else:
            args, kwargs = (), self._by_attribute(value, where)
        parameters = [p.name for p in inspect.signature(type(value)).parameters.values()]
        names = dict(enumerate(parameters))
        return [
            "made",
            kind,
            [self.value(one, f"{where}.{names.get(i, i)}") for i, one in enumerate(args)],
            [[name, self.value(one, f"{where}.{name}")] for name, one in kwargs.items()],
        ]

    def _settings(self, model: Module) -> list[Any]:
        """Return the arguments that every model has: name, ``trainable`` and dtype policy."""
        policy: Any = getattr(model, "_gx_policy", None)
        return [model._gx_name, None if policy is None else policy.name]

    def _graph(self, model: Any, where: str) -> list[Any]:
        graph = model._gx_graph
        layers = [self.value(layer, f"{where}.{layer.name}") for layer in model.layers]
        operands = [self.value(one, f"{where}.operands") for one in getattr(model, "operands", ())]
        steps = []
        for step in graph.steps:
            title = step.callee if isinstance(step.callee, str) else model.layers[step.callee].name
            parts = (step.args, step.kwargs, step.results)
            steps.append([step.callee, *(self.value(part, f"{where}.{title}") for part in parts), step.is_input])
        return [layers, operands, steps, self.value(graph.inputs, where), self.value(graph.outputs, where)]

    def _by_attribute(self, value: object, where: str) -> dict[str, Any]:
        """Return the settings of an object that stores each argument as an attribute of the same name."""
        found = {}
        for one in inspect.signature(type(value)).parameters.values():
            if one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
                continue
            if not hasattr(value, one.name):
                self._refuse(where, f"{value!r:.60}", f"it does not keep its argument {one.name!r} under that name")
            found[one.name] = getattr(value, one.name)
        return found

    def _name(self, value: object, where: str) -> str:
        name = name_of(value)
        if name is None or self.names.setdefault(name, value) is not value:
            why = "it has no name by which load_model could find it" if name is None else f"two are called {name!r}"
            self._refuse(where, f"{value!r:.80}", why)
        return name

    def _refuse(self, where: str, received: str, why: str) -> NoReturn:
        raise ArgumentError(
            f"save: {where} is {received}",
            f"{why}, so no file could restore it",
            "a function with a name, or a class with its settings, given as custom= to load_model; "
            "model.save_weights(path) saves the weights alone",
        )
