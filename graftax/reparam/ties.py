"""Ties: weights that stand for others, and what becomes of them when expressions are folded into plain Variables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from graftax.core.errors import GraftError
from graftax.reparam.base import Reparam
from graftax.reparam.places import Weight, origin_of
from graftax.reparam.shared import SharedWeight
from graftax.variables.graph.module import Module, structure, walk
from graftax.variables.variable import Variable


def require_ties_stay(chosen: Sequence[Weight]) -> None:
    """Raise if a weight would be tied no more once these are plain Variables.

    Raises:
        GraftError: there is one that the weight it is tied to cannot replace as it is.
    """
    plain = {id(weight.node) for weight in chosen}
    apart = {weight.path: why for weight in chosen if (why := _why_apart(weight.node, plain)) is not None}
    if not apart:
        return
    path, why = next(iter(apart.items()))
    others = [weight.path for weight in chosen if weight.path not in apart]
    more = f", and so are {len(apart) - 1} more" if len(apart) > 1 else ""
    leave = f"where={others!r}, without it" if others else "or leave it as it is"
    raise GraftError(
        f"ungraft: {path!r} is {why}{more}",
        "two plain Variables would be trained separately, and would no longer be tied",
        f"ungraft(..., untie=True), if that is meant; {leave}",
    )


def _why_apart(node: Reparam, plain: set[int]) -> str | None:
    """Return what a weight is, in words, if its tie would go; ``plain`` are those that become Variables."""
    tie = _tie_below(node)
    if tie is None:
        return None
    held: Any = tie.source
    source = repr(held._gx_path or held.name)
    if tie is not node:
        return f"{type(node).__name__} over {source}, to which it is tied"
    if tie.transpose:
        return f"tied to {source}, transposed"
    if tie.regularizer is not None or tie.constraint is not None:
        return f"tied to {source}, with a {'constraint' if tie.regularizer is None else 'penalty'} of its own"
    if not isinstance(tie.source, Variable) and id(tie.source) not in plain:
        return f"tied to {source}, which stays an expression"
    return None


def _tie_below(node: Any) -> SharedWeight | None:
    while isinstance(node, Reparam) and not isinstance(node, SharedWeight):
        node = origin_of(node)
    return node if isinstance(node, SharedWeight) else None


def join(module: Module, ties: Sequence[Weight]) -> None:
    """Let the Variables to which weights are tied stand in their places: each is one Variable that several hold."""
    for weight in _sources_first(ties):
        old = weight.node
        source = old.source
        if source._gx_owner is old:  # nobody else holds it
            source._gx_owner_ref = None
        old._gx_owner_ref = None
        for owner, edges in weight.places:
            owner._gx_replace_child(edges, old, source)
    for _ in walk(module):  # adopts what nobody owns
        pass
    structure.bump()


def _sources_first(ties: Sequence[Weight]) -> Iterator[Weight]:
    waiting = list(ties)
    while waiting:
        tied = {id(weight.node) for weight in waiting}
        ready = [weight for weight in waiting if id(weight.node.source) not in tied]
        waiting = [weight for weight in waiting if id(weight.node.source) in tied]
        yield from ready
