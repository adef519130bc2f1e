"""Guard: what must stay as it was for a trace to be valid, compared at each call, cheaply while nothing changes."""

from __future__ import annotations

import weakref
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import chain
from operator import attrgetter, is_, itemgetter
from types import CodeType, FunctionType
from typing import Any

from graftax.transforms.compile.reads import PlainObject
from graftax.transforms.compile.seen import Seen, prints_of
from graftax.transforms.compile.surroundings import Around, Surroundings, has_parts
from graftax.variables.graph.class_attributes import given_by_class, in_class
from graftax.variables.graph.config_objects import Look, attributes_from_class, content_of, is_config
from graftax.variables.graph.containers import LONG, is_small_array, size_of
from graftax.variables.graph.module import Module, Node
from graftax.variables.graph.node import holds_node, ignored_attributes
from graftax.variables.graph.prints import (
    Print,
    Same,
    bytes_of,
    differences,
    ids_in,
    may_change,
    mutable_parts,
    weak_references,
)
from graftax.variables.graph.structure import structure
from graftax.variables.state.storage import touch


class Guard:
    """The plain attributes and containers of some Modules and Variables, as they are when it is made.

    Args:
        nodes: The Modules and Variables that a trace went through.
        seen: How the trace saw them where that is not how they are now.
    """

    def __init__(self, nodes: Iterable[Node], seen: Seen | None = None) -> None:
        self._touched: list[tuple[weakref.ref[Node], dict[str, Print]]] = []
        self._counted = structure.version  # before all prints: what another thread changes meanwhile counts as later
        self._left: list[dict[str, Print]] = []  # how the trace left them, if it changed any
        self._more: dict[int, tuple[str, ...]] = {}  # what to compare beyond fingerprints, by the place of the node
        self._change: str | None = None  # what the trace has changed of what it saw, in words
        self.compares_arrays = False
        """Whether it depends on arrays of NumPy, by their content."""
        self._owed = False  # whether a trace that changed something is still to be run
        for place, node in enumerate(list(nodes)):
            if seen is None:
                self._touched.append((weakref.ref(node), node._gx_fingerprint()))
                continue
            seen.compare_containers(node)
            if names := seen.names(node):
                self._more[place] = names
            after = prints_of(node, names)
            before = seen.prints(node, after)
            self._touched.append((weakref.ref(node), before))
            self._left.append(after)
        self.settle()

    def settle(self) -> None:
        """Find out whether the trace has changed what it saw; such a one is good for the call that it was made for.

        To run it again would do to Variables what it did, and nothing to attributes.
        """
        pairs = zip(self._touched, self._left, strict=False)
        changed = ((ref(), before, after) for (ref, before), after in pairs if before != after)
        found = next(((node, before, after) for node, before, after in changed if node is not None), None)
        self._change, self._owed = None, found is not None
        if found is not None:
            self._change = f"{_describe_difference(*found)}, {BY_ITSELF}"
            self._version = -1
            self._clear()
        else:
            self._left = []
            self._look(self._counted)

    def overlook(self, node: Node, name: str) -> None:
        """Take an attribute as the trace has left it."""
        for (ref, before), after in zip(self._touched, self._left, strict=False):
            if ref() is node and name in after:
                before[name] = after[name]

    def _describe_move(self) -> str | None:
        """Return which Variable lies elsewhere than at the trace, in words; None if none does."""
        return None

    def is_owed(self) -> bool:
        """Return True if the trace has changed something, was not run yet, and nothing has changed since."""
        if not self._owed:
            return False
        states = zip(self._touched, self._left, strict=True)
        return all(
            (node := ref()) is None or self._current_prints(place, node) == after
            for place, ((ref, _), after) in enumerate(states)
        )

    def is_spent(self) -> bool:
        """Return True if the trace has changed something, and was run."""
        return self._change is not None and not self._owed

    def pay(self) -> None:
        """Note that it is run now."""
        self._owed = False

    def _current_prints(self, place: int, node: Node) -> dict[str, Print]:
        return prints_of(node, self._more.get(place, ()))

    def _clear(self) -> None:
        # attributes that are lists, and other containers, each with the ids of what is in it
        self._lists: list[tuple[weakref.ref[Module], str, list[int]]] = []
        self._flat: list[Any] = []  # and of the most common kinds these, with the values of dicts as entries
        self._flat_sizes: list[int] = []
        self._flat_ids: list[int] = []
        self._others: list[tuple[Any, list[int]]] = []
        self._arrays: list[tuple[Callable[[], bytes], bytes]] = []
        self._bound: list[tuple[Callable[[], Any], int]] = []
        self._configs: list[tuple[Callable[[], Any], type[Any], list[int]]] = []
        self._kinds: list[tuple[Callable[[], Any], type[Any]]] = []  # objects of which attributes are noted one by one
        self._sizes: list[tuple[Mapping[str, Any], int]] = []  # of globals that lack names, which may come
        self._around: list[tuple[list[Any], list[Any]]] = []  # a list in the surroundings, and what was in it
        self._empty: list[Any] = []
        # names among globals: of what is equal only if it is the same, and of numbers; names in classes; functions
        self._named: list[tuple[Callable[..., Any], Mapping[str, Any], tuple[Any, ...]]] = []
        self._numbers: list[tuple[dict[str, Any], str, Any]] = []
        self._methods: list[tuple[Callable[[Any], Any], type[Any], object]] = []
        self._functions: list[FunctionType] = []
        self._code: list[CodeType] = []
        self._kept: list[Any] = []
        self._constant, self._has_rare = False, True

    def _look(self, version: int) -> None:
        """Note how everything is, which was as at the trace when `structure` counted ``version``."""
        alive = weakref.ref(self)

        def invalidate(_: object) -> None:
            if (guard := alive()) is not None:
                guard._version = -1

        self._version = version
        self._clear()
        classes: dict[type[Any], None] = {}
        # an attribute of a class is assigned without a word to its objects
        shared: dict[tuple[type[Any], str], Any] = {}
        met: dict[int, object] = {}  # a config object that many layers hold is compared once
        for ref, _ in self._touched:
            node = ref()
            if isinstance(node, Around):
                looks = node.bindings
                now = [look() for look in looks]
                self._kept += weak_references(now, invalidate)
                self._bound += [(look, id(value)) for look, value in zip(looks, now, strict=True)]
            if isinstance(node, Surroundings):
                self._empty += [container for container in node.empty if not container]
                for known, names in node.named.values():
                    self._look_at_names(known, names, invalidate)
                self._look_at_methods(node.methods.items())
                self._functions = [*node.functions.values()]
                self._code = [*map(_code_of, self._functions)]
            if isinstance(node, PlainObject) and node.is_whole and (whole := node.find()) is not None:
                self._kept += weak_references([*content_of(whole)], invalidate)
                self._configs.append((node.find, type(whole), [*map(id, content_of(whole))]))
            if isinstance(node, PlainObject):
                self._kinds.append((node.find, node.kind))
            if isinstance(node, Module):
                classes[type(node)] = None
            if node is None:
                continue
            for name, value in node._gx_traced_attributes().items():
                for one in mutable_parts(value, look=node._gx_look() or Look(met)) if may_change(value) else ():
                    if is_small_array(one):
                        content = bytes_of(one)
                        self._arrays.append((content, content()))
                    elif is_config(one):
                        self._kept += weak_references([*content_of(one)], invalidate)
                        self._configs.append((Same(one).find, type(one), [*map(id, content_of(one))]))
                        shared |= {(type(one), name): given for name, given in attributes_from_class(one).items()}
                    elif isinstance(node, Around) and isinstance(one, list) and len(one) > _FEW:
                        self._around.append((one, [*one]))  # twice as quick as ids, at the price of keeping it alive
                    elif size_of(one) <= LONG or holds_node(one):
                        self._kept += weak_references(one, invalidate)
                        if one is value and isinstance(one, list) and isinstance(node, Module) and name in vars(node):
                            # found through its module: not kept alive
                            self._lists.append((weakref.ref(node), name, [*map(id, one)]))
                        elif type(one) in _FLAT:
                            self._flat += [one, one.values()] if isinstance(one, dict) else [one]
                        else:
                            self._others.append((one, [*ids_in(one)]))
        self.compares_arrays = bool(self._arrays)
        self._flat_sizes, self._flat_ids = [*map(len, self._flat)], [*map(id, chain.from_iterable(self._flat))]
        for kind in classes:
            shared |= {(kind, name): value for name, value in given_by_class(kind).items()}
        self._kept += weak_references(shared.values(), invalidate)
        self._bound += [(partial(getattr, kind, name, None), id(value)) for (kind, name), value in shared.items()]
        often = (self._lists, self._flat, self._around, self._named, self._numbers, self._methods, self._bound)
        rare = (self._others, self._configs, self._kinds, self._sizes, self._functions, self._empty, self._arrays)
        self._has_rare = any(rare)
        self._constant = not self._has_rare and not any(often)  # as of most small functions

    def _look_at_names(self, known: dict[str, Any], names: Iterable[str], invalidate: Callable[[Any], None]) -> None:
        """Note what names stand for."""
        rest: list[tuple[str, Any]] = []
        several: list[str] = []
        for name in names:
            if (value := known.get(name, _ABSENT)) is _ABSENT:
                if (known, len(known)) not in self._sizes:
                    self._sizes.append((known, len(known)))
            elif isinstance(value, bool | int | float | complex):
                self._numbers.append((known, name, value))  # 1, 1.0 and True are equal
            elif value is None or type(value) in (str, bytes) or type(value).__eq__ is _BY_IDENTITY:
                several.append(name)  # equal to nothing that is not the same to a program
            else:
                rest.append((name, value))
        if several:
            several.append(several[0])  # of one, there would be no tuple
            self._named.append((itemgetter(*several), known, (*map(known.get, several),)))
        self._bound += [(partial(known.get, name), id(value)) for name, value in rest]
        self._kept += weak_references([value for _, value in rest], invalidate)

    def _look_at_methods(self, kinds: Iterable[tuple[type[Any], Iterable[str]]]) -> None:
        """Note what the methods of classes are."""
        for kind, names in kinds:
            for name in names:
                method = in_class(kind, name)
                if isinstance(method, _THEMSELVES):
                    self._methods.append((attrgetter(name), kind, method))
                else:
                    self._kept.append(method)
                    self._bound.append((partial(in_class, kind, name), id(method)))

    def _same_content(self) -> bool:
        try:
            for ref, name, ids in self._lists:  # there may be hundreds, at every call
                if [*map(id, ref().__dict__[name])] != ids:
                    return False
        except (AttributeError, KeyError, TypeError):  # the module is gone, or the attribute
            return False
        if self._flat and (  # all at once, in C; the sizes tell where one ends
            [*map(len, self._flat)] != self._flat_sizes or [*map(id, chain.from_iterable(self._flat))] != self._flat_ids
        ):
            return False
        for one, held in self._around:
            if len(one) != len(held) or False in map(is_, one, held):
                return False
        try:
            for get, known, values in self._named:
                if get(known) != values:  # which looks for the same objects first: in no time, if nothing has changed
                    return False
            for globals_, name, number in self._numbers:
                if globals_[name] is not number:
                    return False
            for method_of, owner, method in self._methods:
                if method_of(owner) is not method:
                    return False
        except Exception:  # noqa: BLE001 - there is no such name any more, or it stands for an array now
            return False
        for look, number in self._bound:
            if id(look()) != number:
                return False
        return not self._has_rare or self._same_rare()

    def _same_rare(self) -> bool:
        """Compare what few functions depend on."""
        for container, ids in self._others:  # loops: a generator costs as much as what it looks at, at every call
            if [*ids_in(container)] != ids:
                return False
        for find, kind, ids in self._configs:
            if type(config := find()) is not kind or [*map(id, content_of(config))] != ids:
                return False
        for find, kind in self._kinds:
            if type(find()) is not kind:
                return False
        for known, size in self._sizes:
            if len(known) != size:
                return False
        if self._functions and False in map(is_, map(_code_of, self._functions), self._code):
            return False
        if self._empty and self._is_filled():
            return False
        return not self._arrays or all(look() == content for look, content in self._arrays)

    def _is_filled(self) -> bool:
        """Return True if there are Modules, Variables or objects where there was nothing."""
        filled = [container for container in self._empty if container]
        if any(has_parts(container) for container in filled):
            return True
        if filled:  # with numbers, or the like: not what the function is made of
            self._empty = [container for container in self._empty if not container]
        return False

    def attributes(self) -> Iterator[tuple[Node, str, Any]]:
        """Return the attributes of the Modules, and what is noted around the function, as all is now."""
        for ref, _ in self._touched:
            node = ref()
            if isinstance(node, Around):
                yield from ((node, name, value) for name, value in node._gx_traced_attributes().items())
            elif isinstance(node, Module):
                skip = ignored_attributes(type(node))
                for name, value in {**given_by_class(type(node)), **node.__dict__}.items():
                    if name not in skip:
                        yield node, name, value

    def touch(self) -> None:
        """Let the function being compiled around this one depend on the same."""
        for ref, _ in self._touched:
            if (node := ref()) is not None:
                touch(node)

    def difference(self) -> str | None:
        """Return what has changed since the trace, in words; None if nothing has."""
        version = structure.version  # before the looks: a change that comes after one of them is a later version
        if self._version == version and (self._constant or self._same_content()):
            return None
        if self._change is not None:
            return self._change
        if (moved := self._describe_move()) is not None:
            return moved
        for place, (ref, before) in enumerate(self._touched):
            node = ref()
            if node is not None and (after := self._current_prints(place, node)) != before:
                return _describe_difference(node, before, after)
        self._look(version)
        return None


BY_ITSELF = "in the function itself"
"""How a reason ends where the function has changed what it depends on."""


_ABSENT = object()
_BY_IDENTITY: Any = object.__eq__
_THEMSELVES = (FunctionType, property)
"""What a class gives as it keeps it."""

_code_of = attrgetter("__code__")

_FEW = 16  # elements of a list

_FLAT = frozenset({list, dict, set, deque, OrderedDict, defaultdict})

IN_OBJECT = "in the object"
"""What stands before the name at the end of a reason, where an attribute of an object in an attribute has changed."""


def _title_of(node: Node) -> str:
    return node._gx_path or type(node).__name__


def _describe_difference(node: Node, before: dict[str, Print], after: dict[str, Print]) -> str:
    way, *both = next(differences(before, after))
    old, new = map(_show_print, both)
    where = ".".join((_title_of(node), *way))
    if isinstance(node, Surroundings) and old != new and "another object" not in (old, new):
        where = f"{_title_of(node)} reads {'.'.join(way)}"
    what = f"{where}: {old} -> {new}" if old != new else f"{where} changed"
    return what if len(way) == 1 else f"{what}, {IN_OBJECT} {way[0]}"


def _show_print(one: Print | None) -> str:
    if one is None:
        return "absent"
    if isinstance(one, Same) or one[0] not in _PRINTABLE:
        return "another object"
    return str(one[1]) if one[0] == "float" else repr(one[1])


_PRINTABLE = ("bool", "int", "float", "str", "NoneType")
