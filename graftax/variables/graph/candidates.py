"""What selectors choose from: the Variables of a Module, with all their paths from there, whoever owned them first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from graftax.core.spellings import Reached, spell
from graftax.core.typedefs import VariableLike
from graftax.variables.graph.node import Branch, Edge, Node, own_nodes
from graftax.variables.variable import Variable


class Candidate(NamedTuple):
    """A Variable with its paths from a Module: the first one, and others that selectors know it by."""

    paths: Reached
    variable: Variable

    @property
    def path(self) -> str:
        """Return its first path."""
        return self.paths[0]


class _Way(NamedTuple):
    """One way to a Node: the edges, and the Nodes below the Module on it, each with how many edges lead to it."""

    edges: tuple[Edge, ...]
    passed: tuple[tuple[int, Node], ...]


def candidates(walked: Iterable[tuple[tuple[Edge, ...], Node]]) -> Iterator[Candidate]:
    """Yield the Variables of a Module, depth first.

    Args:
        walked: From `walk_with_edges`: the Module, then all below it.
    """
    nodes = [node for _, node in walked]  # to its end, which adopts what nobody owns
    found: dict[int, tuple[Variable, list[_Way]]] = {}
    for way, node in _ways(nodes[0]):
        if isinstance(node, Variable):
            found.setdefault(id(node), (node, []))[1].append(way)
    for variable, ways in found.values():
        paths: dict[str, None] = {}
        owners: dict[int, Node] = {}
        for way in ways:
            wholes = [depth for depth, node in reversed(way.passed) if isinstance(node, VariableLike)]
            own = [way.edges, *(way.edges[:depth] for depth in wholes)]
            paths |= dict.fromkeys("/".join(map(str, edges)) for edges in own)
            owners |= {id(node): node for _, node in reversed(way.passed)}
        # after all that are paths: the first one is shown
        for way in ways:
            names = [(depth - 1, name) for depth, node in reversed(way.passed) if (name := _given_name(node))]
            lengths = [len(way.edges), *(depth for depth, node in way.passed if isinstance(node, VariableLike))]
            paths |= dict.fromkeys(spell(list(map(str, way.edges)), names, lengths))
        yield Candidate(Reached(paths, (*owners.values(), nodes[0])), variable)


def _given_name(node: Node) -> str | None:
    return getattr(node, "_gx_name", None)


def _ways(root: Node) -> Iterator[tuple[_Way, Node]]:
    """Yield every way to every Node below, in the order of a walk; what is shared is reached by several."""
    children: dict[int, list[tuple[tuple[Edge, ...], Node]]] = {}

    def below(node: Node) -> Iterator[tuple[tuple[Edge, ...], Node]]:
        if id(node) not in children:
            children[id(node)] = list(own_nodes(node))
        return iter(children[id(node)])

    # a stack in place of recursion: a graph may be deeper than Python calls go
    stack = [(_Way((), ()), below(root))]
    on_the_way = [root]
    while stack:
        way, nodes = stack[-1]
        entry = next(nodes, None)
        if entry is None:
            stack.pop()
            on_the_way.pop()
            continue
        edges, node = entry
        if any(node is one for one in on_the_way):  # a circle
            continue
        whole = (*way.edges, *edges)
        yield _Way(whole, way.passed), node
        if isinstance(node, Branch):
            stack.append((_Way(whole, (*way.passed, (len(whole), node))), below(node)))
            on_the_way.append(node)
