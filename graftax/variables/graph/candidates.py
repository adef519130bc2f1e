"""What selectors choose from: the Variables of a Module, with their paths and those of weights they are parts of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from graftax.core.typedefs import VariableLike
from graftax.variables.graph.node import Edge, Node
from graftax.variables.variable import Variable


class Candidate(NamedTuple):
    """A Variable with its path from a Module, and after it those of the expressions that it is a part of."""

    paths: tuple[str, ...]
    variable: Variable

    @property
    def path(self) -> str:
        """Its own path."""
        return self.paths[0]


def candidates(walked: Iterable[tuple[tuple[Edge, ...], Node]]) -> Iterator[Candidate]:
    """Yield the Variables among Nodes that come with their edges, depth first."""
    wholes: list[tuple[Edge, ...]] = []
    for edges, node in walked:
        while wholes and edges[: len(wholes[-1])] != wholes[-1]:
            wholes.pop()
        if isinstance(node, Variable):
            paths = (edges, *reversed(wholes))
            yield Candidate(tuple("/".join(map(str, each)) for each in paths), node)
        elif isinstance(node, VariableLike) and edges:
            wholes.append(edges)
