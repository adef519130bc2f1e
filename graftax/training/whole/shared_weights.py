"""Weights that stand for others: how a file refers to them, and where they are found again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from graftax.core.errors import ArgumentError
from graftax.reparam.shared import Shared, SharedWeight
from graftax.training.whole.description import Describing
from graftax.variables.graph.module import Module, walk, walk_with_edges
from graftax.variables.graph.node import Node, own_nodes
from graftax.variables.variable import Variable


def describe_creator(creator: object, node: Module, describing: Describing, model: Module, path: str) -> Any:
    """Return the description of a creator; one that ties refers to the other weight by its path.

    Args:
        creator: The creator.
        node: The expression that it has made.
        describing: Describes it.
        model: What has the expression.
        path: The path of that, for messages.

    Raises:
        ArgumentError: the creator has no description.
    """
    what = f"the creator of {path}"
    tied = next((part for part in walk(node) if isinstance(part, SharedWeight)), None)
    if not isinstance(creator, Shared) or tied is None:
        return describing.value(creator, what)
    for place, holder, held in _iterate_held(model):
        if held is tied.source and not isinstance(holder, SharedWeight):
            return ["shared", place, tied.transpose]
    if not isinstance(tied.source, Variable):
        raise ArgumentError(
            f"save: {path} is tied to {tied.source!r:.80}",
            "no layer of the model holds that expression, so load_model could not make it again",
            "tying to a weight of a layer in the model, or gx.ungraft(model, where=..., untie=True) first",
        )
    return describing.value(Shared(tied.source, tied.transpose), what)  # which tied weights alone hold


def object_at(model: Module, path: str) -> Any:
    """Return what is held at a path from a model, also where it has another path besides.

    Raises:
        ValueError: there is nothing.
    """
    for place, _, held in _iterate_held(model):
        if place == path:
            return held
    raise ValueError(f"nothing at {path!r}")


def _iterate_held(model: Module) -> Iterator[tuple[str, Node, Any]]:
    """Yield paths, what holds something there, and what that is."""
    for above, holder in walk_with_edges(model):
        for edges, held in own_nodes(holder):
            yield "/".join(map(str, (*above, *edges))), holder, held
