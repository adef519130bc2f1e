"""AttributeFrame: state inside of code that is traced once for several runs, and the plain attributes that it changes.

The Python of a body or branch runs while it is traced. What it changes in a Variable becomes a part of the program;
what it changes in a plain attribute, ``self.ready = True``, happens once, whatever the program does later.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from graftax.backend import registry
from graftax.transforms.compile.reach import find_modules
from graftax.transforms.compile.seen import Seen, changed_attributes
from graftax.transforms.compile.surroundings import Surroundings
from graftax.transforms.lifting.frames import Around, PartFrame
from graftax.variables.graph.config_objects import attributes_in
from graftax.variables.graph.module import Module, walk
from graftax.variables.graph.node import Branch, Node


class AttributeFrame(PartFrame):
    """State inside of a part of a program; notes which plain attributes of Modules the Python of the part changes.

    Args:
        around: Where the part is called from.
        given: The user's function and its arguments: the Modules that it gets at are looked at from the start, since
            a list in one of them may grow without a word.
    """

    def __init__(self, around: Around, values: Sequence[Any]) -> None:
        super().__init__(around)
        self._seen = Seen()
        self._touched: dict[int, Node] = {}
        self._builds = 0  # how many are under way
        # of these and below alone: what is around the function is looked at by the compiled function around it
        modules, surroundings = find_modules(values)
        for module in modules:
            for node in walk(module):
                if isinstance(node, Module):
                    self._meet(node)
        self._meet(surroundings.settings())

    def touch(self, node: Node) -> None:
        """Note how the lists and dicts of a Module are, here and around."""
        super().touch(node)
        self._meet(node)

    def _meet(self, node: Node) -> None:
        if id(node) not in self._touched:
            self._touched[id(node)] = node
            self._seen.note_containers(node)

    def changing(self, node: Node, name: str) -> None:
        """Note how an attribute is before the part changes it, here and around."""
        super().changing(node, name)
        if not self._builds:  # what a build makes is there at later turns, which compute what the first one does
            self.touch(node)
            self._seen.note_attribute(node, name)

    def note_created(self, module: Branch) -> None:
        """Note that the part makes it, here and around."""
        super().note_created(module)
        self._seen.note_created(module)

    def build(self, module: Branch, done: bool) -> None:
        """Keep what a build does to lists and dicts apart from what the part does, here and around."""
        super().build(module, done)
        self._builds += -1 if done else 1
        if done:
            self._seen.accept_build(walk(module))
        else:
            self._seen.compare_containers(module)

    def changed_attributes(self) -> list[str]:
        """Return the plain attributes that the part has changed, but for those that hold its traced values."""
        return [name for _, name, is_traced in self._changes() if not is_traced]

    def changed_surroundings(self) -> list[str]:
        """Return those among them that are of no Module, but of objects around the part."""
        return [name for node, name, is_traced in self._changes() if not is_traced and isinstance(node, Surroundings)]

    def attributes_with_traced(self) -> list[str]:
        """Return the plain attributes in which the part has left traced values of its own."""
        return [name for _, name, is_traced in self._changes() if is_traced]

    def _changes(self) -> Iterator[tuple[Node, str, bool]]:
        leaks = registry.current().tracing.leaks
        for node, way in changed_attributes(list(self._touched.values()), self._seen):
            owner = () if isinstance(node, Surroundings) else (node._gx_path or type(node).__name__,)
            yield node, ".".join((*owner, *way)), leaks(_current_value(node, way), self._around.level)


def _current_value(node: Node, way: Sequence[str]) -> Any:
    """Return what an attribute is now, or one of a config object in it; None where there is none."""
    name, *inside = way
    value = node._gx_traced_attributes().get(name)
    for name in inside:
        value = dict(attributes_in(value)).get(name)
    return value
