"""graft: put an expression behind weights that exist already; ungraft: fold it back into plain Variables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from graftax.backend import registry
from graftax.errors import ArgumentError, CreatorError, GraftError
from graftax.module import Module, Node, structure, walk, walk_with_edges
from graftax.reparam.base import Reparam
from graftax.selectors import SelectorLike, compile_selector
from graftax.typedefs import VariableLike
from graftax.variables.creation import Creator
from graftax.variables.initializers import Constant, Zeros
from graftax.variables.node import Edge, own_nodes
from graftax.variables.spec import VariableSpec
from graftax.variables.storage import concretely
from graftax.variables.variable import Variable, make


class Graft(NamedTuple):
    """One weight that was replaced."""

    path: str
    """Its path from the Module that was given."""
    weight: VariableLike
    """What stands there now."""
    error: float
    """How far its value moved, relative to its norm."""


class _Weight(NamedTuple):
    path: str
    node: Any
    places: list[tuple[Module, tuple[Edge, ...]]]


def graft(
    module: Module,
    creator: Creator,
    where: SelectorLike = "**",
    roles: Sequence[str] = ("weight",),
    tolerance: float = 1e-3,
) -> list[Graft]:
    """Let a creator replace weights of a Module that is built, trained or restored; their values stay what they are.

    The creator is the same that `variable_creator_scope` takes. A part that it asks for under the name ``"base"``, of
    the shape and dtype of the weight, is the Variable that was there, with whatever an optimizer keeps for it. If
    anything fails, nothing is changed.

    Args:
        module: The Module.
        creator: ``creator(next_creator, spec) -> Variable or VariableLike``.
        where: Which weights, by their path from ``module``; all that the creator does not pass on unless told.
        roles: The roles it sees.
        tolerance: How far a value may move, relative to its norm.

    Returns:
        What was replaced.

    Raises:
        SelectorError: ``where`` matches no weight.
        GraftError: the creator replaced nothing, or a value moved further than ``tolerance``.
        CreatorError: the creator returned nothing, or something of another shape.

    Example:
        >>> import numpy as np, graftax as gx
        >>> layer = gx.layers.Dense(3)
        >>> before = layer(np.ones((1, 4), "float32"))
        >>> done = graft(layer, gx.reparam.LoRA(rank=2), where="kernel")
        >>> [v.path for v in layer.trainable_variables], bool((layer(np.ones((1, 4), "float32")) == before).all())
        (['kernel/down', 'kernel/up', 'bias'], True)
        >>> ungraft(layer)
        ['kernel']
    """
    if not tolerance >= 0:
        raise ArgumentError(f"tolerance={tolerance!r}", "it is a distance", "tolerance=1e-3")
    known = [weight for weight in _weights(module) if weight.node.role in roles]
    chosen = _chosen(known, where, "graft: where")
    made: list[tuple[_Weight, Graft]] = []
    frozen: list[tuple[Any, bool]] = []
    try:
        with concretely():
            for weight in chosen:
                new = _make(weight, creator, frozen)
                if new is not weight.node:
                    made.append((weight, Graft(weight.path, new, _settle(weight, new, tolerance))))
        if not made:
            raise GraftError(
                f"graft: {creator!r} passed on all of {', '.join(weight.path for weight in chosen[:5])}",
                "it replaces none of them: most creators take matrices only",
                'where="**/kernel", or another creator',
            )
    except BaseException:
        for node, before in frozen:
            node.trainable = before
        raise
    for weight, done in made:
        _replace(module, weight.places, weight.node, done.weight)
    return [done for _, done in made]


def ungraft(module: Module, where: SelectorLike = "**") -> list[str]:
    """Fold expressions back into plain Variables with the values that they have now.

    Args:
        module: The Module.
        where: Which weights, by their path from ``module``; all that are grafted unless told.

    Returns:
        Their paths.

    Raises:
        SelectorError: ``where`` matches none that is grafted.

    Example:
        >>> import graftax as gx
        >>> with gx.variable_creator_scope(gx.reparam.LowRank(rank=1)):
        ...     layer = gx.layers.Dense(2)
        ...     layer.build((1, 3))
        >>> ungraft(layer), layer.kernel.shape
        (['kernel'], (3, 2))
    """
    known = [weight for weight in _weights(module) if isinstance(weight.node, Reparam)]
    chosen = _chosen(known, where, "ungraft: where")
    with concretely():
        plain = [_plain(weight.node) for weight in chosen]
    for weight, variable in zip(chosen, plain, strict=True):
        _replace(module, weight.places, weight.node, variable)
    return [weight.path for weight in chosen]


# --- which ----------------------------------------------------------------------------------------------------------


def _weights(module: Module) -> list[_Weight]:
    """Variables and expressions, the parts of expressions left out, with all places that hold them."""
    found: dict[int, _Weight] = {}
    inside: set[int] = set()
    modules: list[Module] = []
    for edges, node in walk_with_edges(module):
        if isinstance(node, Reparam):
            inside.update(id(part) for part in _below(node))
        if id(node) in inside:
            continue
        if isinstance(node, Reparam | Variable):
            found[id(node)] = _Weight("/".join(map(str, edges)), node, [])
        elif isinstance(node, Module):
            modules.append(node)
    for owner in modules:
        for edges, node in own_nodes(owner):
            if id(node) in found:
                found[id(node)].places.append((owner, edges))
    return list(found.values())


def _below(node: Module) -> Iterator[Node]:
    return (part for _, part in walk_with_edges(node) if part is not node)


def _chosen(known: list[_Weight], where: SelectorLike, what: str) -> list[_Weight]:
    by_node = {id(weight.node): weight for weight in known}
    nodes = compile_selector(where).pick([((weight.path,), weight.node) for weight in known], what)
    return [by_node[id(node)] for node in nodes]


# --- what -----------------------------------------------------------------------------------------------------------


def _make(weight: _Weight, creator: Creator, frozen: list[tuple[Any, bool]]) -> VariableLike:
    node = weight.node
    spec = _spec(node, Zeros())

    def next_creator(asked: VariableSpec) -> VariableLike:
        if asked is spec or (asked.name == "base" and (asked.shape, asked.dtype) == (spec.shape, spec.dtype)):
            if asked.trainable != spec.trainable:
                frozen.append((node, _is_trainable(node)))
                node.trainable = asked.trainable
            return cast(VariableLike, node)
        return make(asked)

    new = creator(next_creator, spec)
    if not isinstance(new, VariableLike) or tuple(getattr(new, "shape", spec.shape)) != spec.shape:
        raise CreatorError(
            f"graft: {creator!r} returned {new!r} for the weight {weight.path!r} of shape {spec.shape}",
            "a creator returns a Variable, or a VariableLike of the shape that was asked for",
            "return next_creator(spec) for what is to stay as it is",
        )
    return new


def _settle(weight: _Weight, new: Any, tolerance: float) -> float:
    """Give the new weight the value of the old one; how far it is from it."""
    old = weight.node.value
    if new is not weight.node and _distance(new.value, old) > 0:
        new.assign(old)
    error = _distance(new.value, old)
    if error > tolerance or error != error:
        raise GraftError(
            f"graft: {new!r} cannot have the value that {weight.path!r} has: it is {error:.2g} of its norm away",
            f"more than tolerance={tolerance:g}; nothing was changed",
            f"a creator that comes nearer (a higher rank), or tolerance={_rounded_up(error)}",
        )
    return error


def _distance(new: Any, old: Any) -> float:
    to_numpy: Callable[[Any], Any] = registry.current().arrays.to_numpy
    a, b = (np.asarray(to_numpy(x), "complex128" if "complex" in str(x.dtype) else "float64") for x in (new, old))
    norm = float(np.linalg.norm(b))
    return float(np.linalg.norm(a - b)) / (norm or 1.0)


def _rounded_up(error: float) -> str:
    return f"{error * 1.1:.1g}" if error == error else "float('inf')"


def _plain(node: Reparam) -> VariableLike:
    """A Variable of the value now: the one that the expression started from, where there is one."""
    value, trainable = node.value, _is_trainable(node)
    base = getattr(node, "base", None)
    if isinstance(base, Reparam):
        base = _plain(base)
    if isinstance(base, Variable) and (base.shape, base.dtype) == (node.shape, node.dtype):
        base.assign(value)
        base.trainable = trainable
        return base
    return make(_spec(node, Constant(value)))


def _spec(node: Any, initializer: Any) -> VariableSpec:
    return VariableSpec(
        shape=tuple(node.shape),
        dtype=node.dtype,
        initializer=initializer,
        trainable=_is_trainable(node),
        role=node.role,
        name=node._name,
        path=node.path,
        owner=node.owner,
        regularizer=node.regularizer,
        constraint=node.constraint,
    )


def _is_trainable(node: Any) -> bool:
    return bool(node.trainable_variables) if isinstance(node, Module) else bool(node.trainable)


# --- where ----------------------------------------------------------------------------------------------------------


def _replace(module: Module, places: list[tuple[Module, tuple[Edge, ...]]], old: Any, new: Any) -> None:
    old._owner = new._owner = None  # one of them may now be a part of the other
    for owner, edges in places:
        owner.replace_child(edges, old, new)
    for _ in walk(module):  # adopts what is a part now
        pass
    structure.bump()
