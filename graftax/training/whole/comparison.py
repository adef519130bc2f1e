"""Whether a model that was made again has the parts of the one that is to be saved."""

from __future__ import annotations

from collections.abc import Iterator

from graftax.core.errors import ArgumentError
from graftax.layers.building import unbuilt_below
from graftax.layers.layer import Layer
from graftax.variables.graph.module import Module, walk_with_edges
from graftax.variables.graph.node import own_nodes
from graftax.variables.variable import Variable


def require_alike(model: Module, twin: Module) -> None:
    """Raise unless the parts of both are of the same classes, their Variables of the same shapes, and shared alike.

    Raises:
        ArgumentError: names the first place where they differ.
    """
    one, other = dict(_parts(model)), dict(_parts(twin))
    for path in dict.fromkeys((*one, *other)):
        if one.get(path) != other.get(path):
            if path not in other and (unbuilt := _unbuilt_around(path, twin)) is not None:
                place, kind = unbuilt
                raise ArgumentError(
                    f"save: {path} is {one[path]}",
                    f"made again, {place!r} ({kind}) has no weights: the call of the model does not use it, and for "
                    "which shapes it was built is not known",
                    f"gx.Input((...,)) as the first of its layers, or {place}.build(shape) in place of the first call",
                )
            raise ArgumentError(
                f"save: {path or 'the model'} is {one.get(path, 'not there')}",
                f"a new model from the arguments of its constructors has {other.get(path, 'nothing')} there, and files "
                "restore only what the constructors make",
                "make it in __init__ or build, from arguments; or model.save_weights(path), which takes any model",
            )


def _unbuilt_around(path: str, twin: Module) -> tuple[str, str] | None:
    """Return path and class of the outermost layer around a path that is not built; None if all are."""
    nodes = {"/".join(map(str, edges)): node for edges, node in walk_with_edges(twin)}
    edges = path.split("/")
    for place in ("/".join(edges[:end]) for end in range(1, len(edges))):
        if isinstance(layer := nodes.get(place), Layer) and layer in unbuilt_below(layer):
            return place, type(layer).__name__
    return None


def _parts(model: Module) -> Iterator[tuple[str, str]]:
    """Yield what is at each path: a part itself, or the path of one that is held there as well."""
    first: dict[int, str] = {}
    nodes = [("/".join(map(str, edges)), node) for edges, node in walk_with_edges(model)]
    for path, node in nodes:
        first[id(node)] = path
        if isinstance(node, Variable):
            yield path, f"{node.dtype}{list(node.shape)} ({node.role})"
        elif isinstance(node, Module):
            yield path, type(node).__name__
    for path, node in nodes:
        for edges, held in own_nodes(node):
            there = "/".join(filter(None, (path, *map(str, edges))))
            if id(held) in first and first[id(held)] != there:
                yield there, f"{first[id(held)]!r}, which is held there too"
