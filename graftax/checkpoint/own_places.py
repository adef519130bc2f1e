"""Where the Variables of layers that were not built at a restore have their first path."""

from __future__ import annotations

import weakref
from collections.abc import Iterable

from graftax.checkpoint.graph import Graph
from graftax.checkpoint.paths import join
from graftax.variables.graph.module import Module
from graftax.variables.graph.node import own_nodes
from graftax.variables.variable import Variable


class OwnPlaces:
    """The paths of Modules in a restored program, to find those of Variables that are made in them later.

    Args:
        modules: The Modules, with their paths.
    """

    def __init__(self, modules: Iterable[tuple[Module, str]] = ()) -> None:
        self._paths = {id(module): (weakref.ref(module), path) for module, path in modules}

    @classmethod
    def of(cls, graph: Graph) -> OwnPlaces:
        """Return those of the Modules of a graph."""
        return cls((place.thing, place.path) for place in graph.places if isinstance(place.thing, Module))

    def path_of(self, variable: Variable) -> str | None:
        """Return the path below the Module that owns a Variable; None if that was not in the program."""
        place, path = self._paths.get(id(variable._gx_owner), (None, ""))
        owner = None if place is None else place()
        if owner is None or owner is not variable._gx_owner:
            return None
        edges = next((edges for edges, node in own_nodes(owner) if node is variable), ())
        for edge in edges:
            path = join(path, edge)
        return path if edges else None
