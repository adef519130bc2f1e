"""Weights of a Module and the places that hold them: where expressions come in, and go out again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from graftax.core.errors import ArgumentError, ArgumentTypeError
from graftax.core.selectors import SelectorLike, compile_selector
from graftax.core.tally import pick
from graftax.core.typedefs import VariableLike
from graftax.reparam.base import Reparam
from graftax.variables.graph.following import leaves_of
from graftax.variables.graph.module import Module, structure, walk, walk_with_edges
from graftax.variables.graph.node import Edge, outermost, own_nodes
from graftax.variables.initializers import Constant
from graftax.variables.spec import VariableSpec
from graftax.variables.trainability import Trainability
from graftax.variables.variable import Variable, make

if TYPE_CHECKING:
    from graftax.variables.state.home import Placement


class Weight(NamedTuple):
    """A Variable or an expression, its path from the Module that is looked at, and all that hold it."""

    path: str
    node: Any
    places: list[tuple[Module, tuple[Edge, ...]]]


def weights(module: Module) -> list[Weight]:
    """Return Variables and expressions, the parts of expressions left out, with all places that hold them.

    Expressions that hold one besides, as `Shared` does, are such places, also those elsewhere in the same graph.
    """
    if not isinstance(module, Module):
        raise ArgumentTypeError(
            f"{module!r:.60}, of type {type(module).__name__}, in place of a model",
            "weights are looked for in a Module",
            'graftax.graft(model, creator, where="**/kernel")',
        )
    found: dict[int, Weight] = {}
    inside: set[int] = set()
    tied: set[int] = set()  # what expressions hold and other places own
    for edges, node in walk_with_edges(module):
        if isinstance(node, Reparam):
            parts = {id(part): part for part in walk(node) if part is not node}
            inside.update(number for number, part in parts.items() if _is_below(part, node))
            tied.update(parts.keys() - inside)
        if id(node) in inside:
            continue
        if isinstance(node, Reparam | Variable):
            path = "/".join(map(str, edges if id(node) not in tied else _way_from(module, node) or edges))
            found[id(node)] = Weight(path, node, [])
    return _with_places(module, found)


def _way_from(module: Module, node: Any) -> tuple[Edge, ...]:
    """Return the edges from a Module to where a weight hangs, met as what another one is tied to; none if elsewhere."""
    way, above = node._gx_way(), module._gx_way()
    return way[len(above) :] if way[: len(above)] == above else ()


def weight_at(module: Module, path: str) -> Weight:
    """Return the Variable or expression at a path from a Module, parts of expressions too, with all places.

    Raises:
        ArgumentError: there is none.
    """
    for edges, node in walk_with_edges(module):
        if isinstance(node, Reparam | Variable) and "/".join(map(str, edges)) == path:
            return _with_places(module, {id(node): Weight(path, node, [])})[0]
    raise ArgumentError(f"the path {path!r}", f"there is no weight of {type(module).__name__}", "one that there is")


def expressions(module: Module, kind: type[Reparam]) -> list[Weight]:
    """Return expressions of one kind, parts of others too, with all places that hold them; parts come first."""
    nodes = [(edges, node) for edges, node in walk_with_edges(module) if isinstance(node, kind)]
    return _with_places(module, {id(n): Weight("/".join(map(str, edges)), n, []) for edges, n in reversed(nodes)})


def _with_places(module: Module, weights: dict[int, Weight]) -> list[Weight]:
    own = [node for node in walk(module) if isinstance(node, Module)]
    known = {id(owner) for owner in own}
    elsewhere = (node for node in walk(outermost(module)) if isinstance(node, Reparam))
    for owner in (*own, *(node for node in elsewhere if id(node) not in known)):
        for edges, node in own_nodes(owner):
            if id(node) in weights:
                weights[id(node)].places.append((owner, edges))
    return list(weights.values())


def chosen_weights(weights: list[Weight], where: SelectorLike, function: str) -> list[Weight]:
    """Return the weights that are selected.

    Raises:
        SelectorError: there are none, or a part of the selector is in vain.
    """
    by_node = {id(weight.node): weight for weight in weights}
    nodes = pick(compile_selector(where), [((weight.path,), weight.node) for weight in weights], function)
    return [by_node[id(node)] for node in nodes]


def replace(module: Module, weight: Weight, new: Any) -> None:
    """Put something in the place of a weight, wherever that is held; one may be a part of the other."""
    old = weight.node
    above = old._gx_owner
    old._gx_owner_ref = new._gx_owner_ref = None
    inside = {id(node) for node in (walk(new) if isinstance(new, Module) else ())}
    # to where it hung first: what is tied to it may come before that in the model
    for owner, edges in sorted(weight.places, key=lambda place: place[0] is not above):
        if id(owner) not in inside:  # which are parts of the new one, and hold the old one as such
            owner._gx_replace_child(edges, old, new)
    if isinstance(new, Module):
        for _, part in own_nodes(new):  # such as adapters that move to the expression with one more
            if part._gx_owner is old:
                part._gx_owner_ref = None
    for _ in walk(module):  # adopts what is a part now
        pass
    structure.bump()


def base_of(node: Reparam) -> Any:
    """Return the part that has the value which the weight had before: ``base``, of its shape and dtype; else None."""
    return _part(node, "base")


def origin_of(node: Reparam) -> Any:
    """Return the part that was the weight itself before the expression, whatever it counts for in it; else None."""
    return _part(node, node.base_name)


def _part(node: Reparam, name: str) -> Any:
    part = getattr(node, name, None)
    fits = isinstance(part, Variable | Reparam) and (part.shape, part.dtype) == (node.shape, node.dtype)
    return part if fits else None


def fold(node: Reparam) -> VariableLike:
    """Return a Variable of the value now: the one that the expression started from, where there is one."""
    value, trainable = node.value, _was_trainable(node)
    base = origin_of(node)
    if isinstance(base, Reparam):
        base = fold(base)
    if isinstance(base, Variable):
        base.assign(value)
        give_penalty(node, base)
        thaw(base, trainable)
        return base
    new = make(spec_of(node, Constant(value)).replace(trainable=trainable))
    if is_frozen(node):
        freeze(new)
    return new


def give_penalty(node: Reparam, base: Any) -> None:
    """Give the penalty of an expression back to the weight that stands in its place again."""
    if node.regularizer is not None:
        base.regularizer = node.regularizer


def _was_trainable(node: object) -> bool:
    """Tell whether the weight that an expression started from was made to be trained."""
    known = getattr(node, "made_trainable", None)
    if known is None:
        base = base_of(node) if isinstance(node, Reparam) else None
        return _was_trainable(base) if isinstance(base, Reparam) else is_made_trainable(node)
    return bool(known)


def thaw(base: object, trainable: bool) -> None:
    """Let a weight be trained again that rested as the base of an expression; one that is frozen stays so."""
    if not trainable:
        return
    for leaf in own_leaves(base):
        if leaf.trainability.resting:
            leaf.trainability = leaf.trainability.with_resting(-1)
        elif leaf is base:  # made not to be trained, since it was to be a base
            leaf.trainability = Trainability(True, leaf.trainability.frozen)
    structure.bump()


def freeze(node: object) -> None:
    """Carry over that what was there before is frozen."""
    for leaf in own_leaves(node):
        if leaf.trainability.made:
            leaf.trainability = leaf.trainability.with_frozen(True)
    structure.bump()


def own_leaves(node: object) -> list[Variable]:
    """Return the Variables of a weight without those that it shares with another place, which owns them."""
    return [leaf for leaf in leaves_of(node) if leaf is node or _is_below(leaf, node)]


def _is_below(leaf: Any, node: object) -> bool:
    while leaf is not None and leaf is not node:
        leaf = leaf._gx_owner
    return leaf is node


def spec_of(node: Any, initializer: Any) -> VariableSpec:
    """Return the spec of a weight that exists."""
    return VariableSpec(
        shape=tuple(node.shape),
        dtype=node.dtype,
        initializer=initializer,
        trainable=is_made_trainable(node),
        role=node.role,
        name=node._gx_name,
        path=node._gx_path,
        owner=node._gx_owner,
        regularizer=node.regularizer,
        constraint=node.constraint,
        autocast=node.autocast,
        placement=_placement_of(node),
    )


def _placement_of(node: Any) -> Placement | None:
    """Return what gave the Variables of a weight their homes."""
    homes = [leaf._storage.home for leaf in leaves_of(node)]
    return next((home.placement for home in homes if home is not None and home.placement is not None), None)


def is_made_trainable(node: object) -> bool:
    """Tell whether any part of a weight was made to be trained, be it frozen or at rest now."""
    return any(leaf.trainability.made for leaf in leaves_of(node))


def is_frozen(node: object) -> bool:
    """Tell whether all of a weight that would be trained is frozen."""
    made = [leaf for leaf in leaves_of(node) if leaf.trainability.made]
    awake = [leaf for leaf in made if not leaf.trainability.resting]
    return bool(made) and all(leaf.trainability.frozen for leaf in awake or made)
