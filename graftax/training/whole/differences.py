"""What was set on a model after its construction: found by comparison with a new model, saved, and set again."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import astuple
from functools import cached_property, partial
from types import FunctionType, ModuleType
from typing import Any, TypeAlias, get_args

import numpy as np

from graftax.backend import registry
from graftax.checkpoint.trained_as_saved import set_trainability
from graftax.core import tree
from graftax.core.errors import ArgumentError, CorruptCheckpoint, GraftaxError
from graftax.core.typedefs import VariableLike
from graftax.layers.building import Buildable
from graftax.layers.policy import DTypePolicy
from graftax.layers.set_remat_policy import RematPolicy
from graftax.reparam.base import Reparam
from graftax.training.compiled_loss import WEIGHTS
from graftax.training.whole.description import Describing
from graftax.training.whole.rebuilding import Rebuilding
from graftax.variables.graph.module import Module, walk_with_edges
from graftax.variables.graph.node import Node, holds_node, ignored_attributes
from graftax.variables.graph.prints import is_plain
from graftax.variables.graph.reserved import LOSS
from graftax.variables.trainability import Trainability
from graftax.variables.variable import Variable

_REMAT, _FROZEN = "_gx_remat", "_gx_frozen"
_KEPT: dict[str, Any] = {_REMAT: None, _FROZEN: False}  # what graftax itself keeps on a Module, and what it is at first
_OF_VARIABLES = ("regularizer", "constraint")
_TRAINABILITY = "trainability"
_ABSENT = object()
_Compare: TypeAlias = Callable[[Any, Any], Iterable[tuple[str, Any]]]
_MADE = frozenset({"built", LOSS, WEIGHTS})
"""Attributes that `build` and `compile` set."""
_OF_A_PROCESS = frozenset({"asyncio", "concurrent", "logging", "multiprocessing", "queue", "threading"})
"""Libraries whose objects belong to a process, such as an event that another thread waits for."""
_DEEPEST = 8
"""How deep inside of each other objects are compared."""


def roots(model: Any) -> dict[str, Module]:
    """Return the Modules that a file describes, by a path: the model, and what it was compiled with."""
    found: dict[str, Module] = {"model": model}
    if model._gx_objectives is not None:
        given = {"optimizer": model._gx_objectives.optimizer, **model._gx_objectives.given_arguments()}
        for argument, value in given.items():
            for number, one in enumerate(tree.flatten(value)):
                if isinstance(one, Module):
                    found[f"{argument}/{number}"] = one
    return found


def differences(model: Any, twin: Any, describing: Describing) -> list[list[Any]]:
    """Return what was set on a model since its construction: root, path, name and description of each value.

    Args:
        model: The model.
        twin: A new model with the same parts.
        describing: The description of the model so far.

    Raises:
        ArgumentError: a value could not be restored by ``load_model``.
    """
    return _differences(model, twin, describing, _compare_node)


def differences_on_weights(model: Any, twin: Any, describing: Describing) -> list[list[Any]]:
    """Return regularizers and constraints that were set on weights: they may be Modules, which the twin lacks.

    Args:
        model: The model.
        twin: A new model.
        describing: The description of the model so far.

    Raises:
        ArgumentError: a value could not be restored by ``load_model``.
    """
    return _differences(model, twin, describing, _compare_on_weight)


def _differences(model: Any, twin: Any, describing: Describing, compare: _Compare) -> list[list[Any]]:
    found = []
    others = roots(twin)
    for root, one in roots(model).items():
        there = dict(walk_with_edges(others[root]))
        for edges, node in walk_with_edges(one):
            path = "/".join(map(str, edges))
            _require_no_scope(node, path)
            if type(there.get(edges)) is not type(node):
                continue  # parts of what makes them when it is first used: no setting of the program
            for name, value in compare(node, there[edges]):
                place = f"{root}.{'.'.join((*map(str, edges), name))}"
                try:
                    found.append([root, path, name, describing.value(value, place)])
                except ArgumentError as error:
                    error.add_context(
                        f'{place} was assigned after the construction; untracked = frozenset({{"{name}"}}) in the '
                        "class leaves it out of compiled functions and files"
                    )
                    raise
    return found


def _require_no_scope(node: Node, path: str) -> None:
    scopes = node._gx_captured if isinstance(node, Buildable) and node._gx_lacks_weights else ()
    if waiting := [scope.name for scope in scopes if not scope.distributes]:
        raise ArgumentError(
            f"save: {path or 'the model'} has no weights yet, and was made in a variable_creator_scope({waiting[-1]})",
            "its weights would be made without that creator after load_model",
            "build the model first: model.build_for(x)",
        )


def _compare_on_weight(node: Any, other: Any) -> Iterator[tuple[str, Any]]:
    """Yield the regularizer and the constraint of a weight, as far as those of another one differ."""
    if isinstance(node, Variable | Reparam):
        for name in _OF_VARIABLES:
            if _differ(getattr(node, name), getattr(other, name)):
                yield name, getattr(node, name)


def _compare_node(node: Any, other: Any) -> Iterator[tuple[str, Any]]:
    """Yield names and values of the attributes in which a Node differs from another one."""
    if isinstance(node, Variable):
        yield from _compare_on_weight(node, other)
        if node.trainability != other.trainability:
            yield _TRAINABILITY, list(astuple(node.trainability))
        return
    yield from compare_attributes(node, other, ignored_attributes(type(node)) | _MADE)
    before = vars(other)
    for name, at_first in _KEPT.items():
        if vars(node).get(name, at_first) != before.get(name, at_first):
            yield name, vars(node).get(name, at_first)


def compare_attributes(one: object, other: object, skip: frozenset[str], depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield names and values of the attributes in which an object differs from another one of its class.

    Args:
        one: The object.
        other: The other one.
        skip: Names that are left out.
        depth: How deep inside of other objects both are. Defaults to 0.
    """
    before = vars(other)
    for name, value in vars(one).items():
        if name in skip or name.startswith("_gx_") or holds_node(value):
            continue
        if _differ(value, before.get(name, getattr(type(one), name, _ABSENT)), depth):
            yield name, value


def is_plain_object(value: object) -> bool:
    """Tell whether a value is an object with attributes, outside of the object graph, and no class or function."""
    if isinstance(value, type | Node | VariableLike | ModuleType | partial | DTypePolicy) or inspect.isroutine(value):
        return False
    return hasattr(value, "__dict__") and type(value).__module__.partition(".")[0] not in _OF_A_PROCESS


def _differ(value: Any, other: Any, depth: int = 0) -> bool:
    if value is other or _is_traced(value):
        return False
    if is_plain(value) and is_plain(other):
        return type(value) is not type(other) or bool(value != other)
    if (arrays := _arrays_of(value, other)) is not None:
        one, another = arrays
        same = one.dtype == another.dtype and one.shape == another.shape
        return not (same and np.array_equal(one, another, equal_nan=one.dtype.kind in "fc"))
    found = _describe(value), _describe(other)
    if found != (None, None):
        return bool(found[0] != found[1]) or _differ_inside(value, other, depth)
    if isinstance(value, FunctionType) and isinstance(other, FunctionType):
        return value.__code__ is not other.__code__
    return type(value) is not type(other)  # what a constructor makes that has no description, such as a lock


def _arrays_of(value: Any, other: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]] | None:
    """Return two arrays on the host, of numbers or not, if they are of one kind; None for other values."""
    arrays: Any = registry.current().arrays
    if isinstance(value, np.ndarray) and isinstance(other, np.ndarray):
        return value, other
    if arrays.is_array(value) and arrays.is_array(other):
        return np.asarray(arrays.to_numpy(value)), np.asarray(arrays.to_numpy(other))
    return None


def _differ_inside(value: Any, other: Any, depth: int) -> bool:
    """Tell whether objects with equal arguments, in equal containers or alone, have come to differ since."""
    if depth >= _DEEPEST:
        return False
    if isinstance(value, list | tuple) and isinstance(other, list | tuple):
        return any(_differ_inside(*pair, depth + 1) for pair in zip(value, other, strict=False))
    if isinstance(value, dict) and isinstance(other, dict):
        return any(_differ_inside(value[key], other[key], depth + 1) for key in value.keys() & other.keys())
    if value is other or type(value) is not type(other) or not is_plain_object(value):
        return False
    return any(compare_attributes(value, other, left_out(type(value)), depth + 1))


def left_out(kind: type[Any]) -> frozenset[str]:
    """Return the attributes of plain objects of a class that files leave out: ``untracked``, and cached properties."""
    names = {name for base in kind.__mro__ for name, one in vars(base).items() if isinstance(one, cached_property)}
    return frozenset(names.union(*(base.__dict__.get("untracked", ()) for base in kind.__mro__)))


def _is_traced(value: object) -> bool:
    """Tell whether a value is left over from the trace of a compiled function: it has no numbers any more."""
    arrays = registry.current().arrays
    return bool(arrays.is_array(value)) and not arrays.is_concrete(value)


def _describe(value: object) -> Any:
    """Return the description of a value in a list; None for one that has none."""
    if value is _ABSENT:
        return ["absent"]
    try:
        return [Describing().value(value, "")]
    except (GraftaxError, TypeError, ValueError, AttributeError, RuntimeError):
        return None


def without_description(model: Module, paths: Iterable[str]) -> tuple[str, ...]:
    """Return those of some attributes below ``model/`` that no description of a whole model can have, such as a lock.

    Args:
        model: The model.
        paths: Where they are: ``model/alpha``, ``model/layers/0/scale``.
    """
    return tuple(path for path in paths if _describe(_follow(model, path.split("/")[1:])) is None)


def _follow(part: Any, steps: list[str]) -> Any:
    for step in steps:
        if isinstance(part, list | tuple):
            part = part[int(step)]
        else:
            part = part[step] if isinstance(part, dict) else getattr(part, step)
    return part


def restore_differences(model: Any, description: list[list[Any]], making: Rebuilding) -> None:
    """Set on a loaded model what was set on the saved one after its construction.

    Args:
        model: The model.
        description: The result of `differences`.
        making: The object that has rebuilt the model.

    Raises:
        CorruptCheckpoint: an attribute of the description does not exist, or cannot be set.
    """
    known = roots(model)
    nodes: dict[tuple[str, str], Node] = {}
    for root, path, name, value in description:
        if root in known and (root, path) not in nodes:  # at first, and below what was set on a weight just before
            nodes |= {(root, "/".join(map(str, edges))): node for edges, node in walk_with_edges(known[root])}
        node = nodes.get((root, path))
        if node is None or not _may_be_set(node, name):
            raise CorruptCheckpoint(
                f"{path}.{name} of the {root} in the description of a model",
                "the model has no such attribute",
                "another copy of the file",
            )
        made = making.value(value)
        if name == _TRAINABILITY and isinstance(node, Variable):
            set_trainability(node, Trainability(*made))
        elif (name == _REMAT and made not in (None, *get_args(RematPolicy))) or (
            name == _FROZEN and not isinstance(made, bool)
        ):
            raise CorruptCheckpoint(
                f"{name} = {made!r:.60} of {path!r}", "it cannot be that", "another copy of the file"
            )
        else:
            setattr(node, name, made)


def _may_be_set(node: Node, name: object) -> bool:
    if isinstance(node, Variable):
        return name in (*_OF_VARIABLES, _TRAINABILITY)
    return isinstance(name, str) and not name.startswith("__") and (not name.startswith("_gx_") or name in _KEPT)
