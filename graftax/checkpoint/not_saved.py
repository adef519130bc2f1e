"""Finding what a save leaves out, for its report: plain attributes, and optimizers that are not roots."""

from __future__ import annotations

import inspect

import numpy as np

from graftax.checkpoint.children import keeps_state
from graftax.checkpoint.graph import Graph
from graftax.checkpoint.paths import join
from graftax.core.assigned_names import assigned_by_ours
from graftax.core.ours import is_ours
from graftax.variables.graph.module import Module
from graftax.variables.graph.node import holds_node, names_by_class

_DATA = (int, float, complex, str, bytes, list, tuple, dict, set, frozenset, np.ndarray, np.generic)


def plain_attributes(graph: Graph) -> tuple[str, ...]:
    """Return the paths of plain attributes with data, of classes outside of this package.

    Arguments of the constructor, and of those of this package that it extends, which the program passes again, do not
    count, nor do attributes that methods of this package assign, and those that `get_state` may return.
    """
    found: list[str] = []
    for place in graph.places:
        module = place.thing
        if not isinstance(module, Module) or place.kind.is_leaf or is_ours(type(module)) or keeps_state(module):
            continue
        names = names_by_class[type(module)]
        ours = [base for base in type(module).__mro__ if issubclass(base, Module) and is_ours(base)]
        known = names.ignored | names.words.keys() | _arguments[type(module)].union(*map(_arguments.__getitem__, ours))
        known |= assigned_by_ours(type(module))
        found += [
            join(place.path, name)
            for name, value in vars(module).items()
            if name not in known and not name.startswith("_gx_") and isinstance(value, _DATA) and not holds_node(value)
        ]
    return tuple(found)


class Beside:
    """The optimizers that Modules of a graph train with, but do not hold."""

    def __init__(self, graph: Graph) -> None:
        self._known = {id(place.thing) for place in graph.places}
        self._trained = [
            (place.path, place.thing)
            for place in graph.places
            if isinstance(place.thing, Module) and type(place.thing)._gx_beside is not Module._gx_beside
        ]

    def describe_unsaved(self) -> tuple[str, ...]:
        """Return the paths and classes of those with state to save, for the report."""
        return tuple(
            [
                f"{join(path, name)} ({type(part).__name__})"
                for path, module in self._trained
                for name, part in module._gx_beside().items()
                if id(part) not in self._known and part._gx_slot_records()
            ]
        )


class _Arguments(dict[type[Module], frozenset[str]]):
    """Names of the arguments of constructors, by class."""

    def __missing__(self, kind: type[Module]) -> frozenset[str]:
        self[kind] = found = frozenset(inspect.signature(kind.__init__).parameters)
        return found


_arguments = _Arguments()
