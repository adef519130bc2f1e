"""Seen: what a traced function found the plain attributes of Modules to be, before it, or a build in it, changed them.

The Python of a trace runs once, and may change what it depends on: ``self.ready = True`` after a first batch. A later
call must then be compared with what the trace *saw*. What building makes counts as seen, since a first call that builds
computes what a later one does; unless the function has asked what there is (``layer.built``, ``model.variables``,
``optimizer.slots()``) before it was made.
"""

from __future__ import annotations

import weakref
from collections.abc import Hashable, Iterable
from contextlib import suppress
from itertools import islice
from typing import Any

from graftax.backend import registry
from graftax.variables.graph.class_attributes import given_by_class
from graftax.variables.graph.config_objects import attributes_in, is_config
from graftax.variables.graph.containers import elements_of, is_container, is_mapping
from graftax.variables.graph.node import Branch, Node
from graftax.variables.graph.prints import Print, differences, may_change, print_of
from graftax.variables.state.storage import frames

Prints = dict[str, Print]


class Seen:
    """Notes of one trace, attribute by attribute; each is made once, so that the first one counts."""

    def __init__(self) -> None:
        self._parts: dict[int, dict[str, Print | None]] = {}  # None: there was no such attribute
        self._whole: dict[int, Prints] = {}
        self._containers: dict[int, Prints] = {}
        self._made: dict[int, weakref.ref[Branch]] = {}
        self._dead: dict[tuple[int, str], frozenset[Hashable]] = {}  # where values of earlier traces were found
        self._left: dict[tuple[int, str], weakref.ref[Any]] = {}  # such values in variables around the function

    def note_created(self, module: Branch) -> None:
        """Note that it is made during the trace: whatever becomes of it, no later call finds it as it was before."""
        self._made[id(module)] = weakref.ref(module)

    @property
    def makes_modules(self) -> bool:
        """Tell whether Modules are made during the trace."""
        return bool(self._made)

    def note_attribute(self, node: Node, name: str) -> None:
        """Note how an attribute is."""
        known = self._parts.setdefault(id(node), {})
        if name not in known and not self._is_made(node):
            with frames.replaced(()):  # to look is not to depend, and would note what it looks at
                known[name] = node._gx_print_for(name)
            held = vars(node) if isinstance(node, Branch) else node._gx_traced_attributes()
            self._note_dead(node, name, held.get(name))

    def note_all_attributes(self, node: Node) -> None:
        """Note how all attributes are, and that there are no others."""
        if id(node) not in self._whole and not self._is_made(node):
            with frames.replaced(()):
                self._whole[id(node)] = node._gx_fingerprint()

    def note_containers(self, node: Node) -> None:
        """Note what is in the lists, dicts and the like that a node holds, which change without a word."""
        if id(node) not in self._containers:
            self._containers[id(node)] = containers = _containers(node)
            held = node._gx_traced_attributes() if containers else {}
            for name in containers:
                self._note_dead(node, name, held.get(name))

    def take_created(self, node: Node, name: str, value: object) -> None:
        """Let a Module or Variable that stands where nothing was count as seen: later calls find it there."""
        known = self._parts.get(id(node), {})
        if isinstance(value, Node) and name in known and known[name] in (None, print_of(None)):
            del known[name]

    def held_dead(self, node: Node, name: str, places: frozenset[Hashable]) -> bool:
        """Return True if values of an earlier trace lay at these places of an attribute, so that none were read.

        To read one raises. A list that has grown beyond such values counts: to reach its end is to pass them.
        """
        held = self._dead.get((id(node), name), frozenset())
        last_place = max((place for place in held if type(place) is int), default=None)
        return all(
            place in held or (last_place is not None and type(place) is int and place > last_place) for place in places
        )

    def note_left(self, around: Node) -> None:
        """Note the values of earlier traces in variables around a function: this trace has not put them there."""
        level, leaks = registry.current().tracing.level(), registry.current().tracing.leaks
        for name, value in around._gx_traced_attributes().items():
            if leaks(value, level):
                with suppress(TypeError):  # it cannot be referred to
                    self._left[id(around), name] = weakref.ref(value)

    def was_left(self, around: Node, name: str, value: object) -> bool:
        """Return True if a value in a variable around the function was there before the trace."""
        found = self._left.get((id(around), name))
        return found is not None and found() is value

    def _note_dead(self, node: Node, name: str, value: Any) -> None:
        if places := places_of_traced(value, registry.current().tracing.level()):
            self._dead.setdefault((id(node), name), places)

    def compare_containers(self, node: Node) -> None:
        """Compare lists, dicts and the like with how they were noted: what is different was changed by the function."""
        if id(node) in self._containers and not self._is_made(node):
            now = _containers(node)
            for name, before in self._containers[id(node)].items():
                assigned = name not in now and name in vars(node)  # to the object, which is noted where it happens
                if now.get(name) != before and not assigned:
                    self._parts.setdefault(id(node), {}).setdefault(name, before)

    def accept_build(self, nodes: Iterable[Node]) -> None:
        """Take lists, dicts and the like as a build has left them."""
        for node in nodes:
            self._containers[id(node)] = _containers(node)

    def names(self, node: Node) -> tuple[str, ...]:
        """Return the attributes that are noted one by one."""
        return tuple(self._parts.get(id(node), ()))

    def prints(self, node: Node, after: Prints) -> Prints:
        """Return how the trace saw a Module or Variable, given how it is after it."""
        held: dict[str, Print | None] = {**self._whole.get(id(node), after), **self._parts.get(id(node), {})}
        return {name: one for name, one in held.items() if one is not None}

    def is_noted(self, node: Node) -> bool:
        """Return True if anything of a node is noted, so that there is something to compare."""
        return bool(self._parts.get(id(node))) or id(node) in self._whole

    def _is_made(self, node: Node) -> bool:
        found = self._made.get(id(node))  # the number of one that is gone may be that of another by now
        return found is not None and found() is node


def places_of_traced(value: Any, level: object) -> frozenset[Hashable]:
    """Return where an attribute holds values of a trace that is inside of a level, or over: keys, numbers, or None.

    ``level`` is where the question is asked. None stands for the attribute itself.
    """
    leaks = registry.current().tracing.leaks
    pairs: Iterable[tuple[Hashable, Any]]
    if is_mapping(value):
        pairs = (((key,), one) for key, one in value.items())
    elif is_container(value) and not isinstance(value, set):
        pairs = enumerate(elements_of(value))
    elif is_config(value):
        pairs = (((name,), one) for name, one in attributes_in(value))
    else:
        pairs = ((None, value),)
    return frozenset(place for place, one in islice(pairs, _LOOKED_AT) if leaks(one, level))


_LOOKED_AT = 1000  # elements of a container, at each trace


def changed_attributes(nodes: Iterable[Node], seen: Seen) -> list[tuple[Node, tuple[str, ...]]]:
    """Return the attributes that are not as they were seen, each with what has it; and those of config objects."""
    found: list[tuple[Node, tuple[str, ...]]] = []
    for node in nodes:
        seen.compare_containers(node)
        if not seen.is_noted(node):  # as most are, and to look at all attributes takes long
            continue
        after = prints_of(node, seen.names(node))
        found += [(node, one.way) for one in differences(seen.prints(node, after), after)]
    return found


def prints_of(node: Node, names: Iterable[str] = ()) -> Prints:
    """Return the fingerprint of a Module or Variable, and the prints of more of its attributes."""
    found = node._gx_fingerprint()
    for name in names:
        if name not in found and (one := node._gx_print_for(name)) is not None:
            found[name] = one
    return found


def _containers(node: Node) -> Prints:
    shared = given_by_class(type(node)).keys() - vars(node).keys()  # what is assigned to a class comes without a word
    held = {name: value for name, value in node._gx_traced_attributes().items() if may_change(value) or name in shared}
    if not held:  # as of most, and each node that is met is asked
        return {}
    with frames.replaced(()):
        return {name: print_of(value, look=node._gx_look()) for name, value in held.items()}
