"""The layers of a program as units: their Variables, and the rules by which these are made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graftax.checkpoint.foreign.flattening import Flattening
from graftax.checkpoint.foreign.layer_rules import rule_of
from graftax.checkpoint.foreign.rules.layouts import single_choice
from graftax.checkpoint.foreign.sources import Source
from graftax.checkpoint.foreign.unit import Part, Unit
from graftax.checkpoint.paths import join, prefixes
from graftax.checkpoint.subset import Spot, Subset
from graftax.core.errors import NotBuiltError, StateError
from graftax.reparam.base import Reparam
from graftax.variables.graph.candidates import candidates
from graftax.variables.graph.module import Module, snake_case
from graftax.variables.graph.node import own_nodes
from graftax.variables.graph.walking import walk_with_edges
from graftax.variables.variable import Variable


class Units:
    """The units of a module.

    Args:
        module: The module to load.
        source: The library that wrote the file.

    Raises:
        NotBuiltError: some layers have no weights yet.
        StateError: a weight is an expression.
    """

    def __init__(self, module: Module, source: Source) -> None:
        found = [("/".join(map(str, edges)), node) for edges, node in walk_with_edges(module)]
        self.modules = [(path, node) for path, node in found if isinstance(node, Module)]
        unbuilt = [path or "the module" for path, node in self.modules if node._gx_lacks_weights]
        if unbuilt:
            raise NotBuiltError(
                f"{', '.join(unbuilt[:5])}{', ...' if len(unbuilt) > 5 else ''}: not built",
                "arrays are matched by the shapes of the weights, and these layers have no weights yet",
                "model(example) before, or model.build((None, ...)); layer.build((None, ...)) for a layer that the "
                "call of the model does not use",
            )
        self._flattening = Flattening(module) if source.channels_first else None
        self._source = source
        makers = {path for path, node in self.modules if node._gx_makes_list() or not source.names_lists}
        self._made_lists = frozenset() if source.by_name else frozenset(join(path, "layers") for path in makers)
        self.units: list[Unit] = []
        self.kept: list[str] = []
        held: dict[int, list[tuple[str, Variable]]] = {}
        for path, node in found:
            if isinstance(node, Variable):
                held.setdefault(id(node._gx_owner), []).append((path, node))
        paths = {id(node): path for path, node in self.modules}
        for variables in held.values():
            self._add(paths, variables)
        if source.by_depth:
            places = {id(node): place for place, node in enumerate(_by_depth(module))}
            self.units.sort(key=lambda unit: places[id(unit.parts[0].variable._gx_owner)])

    def wanted_parts(self, subset: Subset) -> set[str]:
        """Return the paths of the parts that are selected, by any of their paths, and tell the units.

        Args:
            subset: The selection.

        Raises:
            SelectorError: a selector matches nothing.
        """
        _, module = self.modules[0]
        others = {id(one.variable): one.paths for one in candidates(walk_with_edges(module))}
        found = set()
        for unit in self.units:
            spots = [
                Spot(one.path, one.variable.role, one.variable, tuple(others.get(id(one.variable), ())))
                for one in unit.parts
            ]
            chosen = {spot.path for spot in spots if spot in subset}
            unit.is_wanted = bool(chosen)
            found |= chosen
        subset.check()
        return found

    def _add(self, paths: Mapping[int, str], variables: list[tuple[str, Variable]]) -> None:
        layer: Any = variables[0][1]._gx_owner
        rule = rule_of(layer, self._source.rules)
        choices = {} if rule is None else rule(layer)
        variables = [
            (path, one)
            for path, one in variables
            if one.role in ("weight", "state") or path.rpartition("/")[2] in choices
        ]
        if not variables:
            return
        if isinstance(layer, Reparam):
            raise StateError(
                f"{variables[0][0]} is a part of the expression {type(layer).__name__}, which was grafted",
                "files of other libraries have plain weights",
                "load before you graft: load_foreign(path, model), and then gx.graft(model, ...)",
            )
        parts = []
        for path, variable in variables:
            name = path.rpartition("/")[2]
            if name in choices and getattr(layer, name, None) is variable:
                ways = choices[name]
                if self._flattening is not None:
                    ways = self._flattening.reorder(layer, name, ways)
                parts.append(Part(variable, path, ways))
            elif variable.role == "state" and rule is not None:
                self.kept.append(path)
            else:
                self.units.append(
                    Unit(path, (), "", [Part(variable, path, single_choice(""))], unnamed=self._unnamed(path))
                )
        if parts:
            kind = tuple(snake_case(base.__name__) for base in type(layer).__mro__)
            label = layer._gx_name or ""
            where = paths.get(id(layer), parts[0].path.rpartition("/")[0])
            way, unnamed = _direction_of(layer), self._unnamed(where)
            self.units.append(Unit(where, kind, label, parts, goes_backwards=way, unnamed=unnamed))

    def _unnamed(self, path: str) -> frozenset[int]:
        parts = path.split("/")
        lists = enumerate(prefixes(path)[:-1])
        return frozenset(i for i, above in lists if above in self._made_lists and parts[i + 1].isdecimal())


def _direction_of(layer: Any) -> bool | None:
    """Return whether a recurrent layer, or the one around a cell, goes backwards; None for others."""
    kinds = {kind.__name__ for kind in type(layer).__mro__}
    while layer is not None:
        way = getattr(layer, "go_backwards", None)
        if isinstance(way, bool) or not any(name.endswith("Cell") for name in kinds):
            return way if isinstance(way, bool) else None
        layer = layer._gx_owner
    return None


def _by_depth(module: Module) -> list[Module]:
    """Return a Module and all below, each once: the layers of graphs by depth, others in the order of definition."""
    found: dict[int, Module] = {}
    waiting = [module]
    while waiting:
        node = waiting.pop()
        if id(node) not in found:
            found[id(node)] = node
            inside = [child for _, child in own_nodes(node) if isinstance(child, Module)]
            waiting += reversed([*node._gx_parts_by_depth(), *inside])
    return list(found.values())
