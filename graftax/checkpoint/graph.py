"""The object graph of a program, as a checkpoint sees it: Modules, Variables, containers, Python state, slots."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from typing import Any, TypeAlias

from graftax.checkpoint.children import adopt_pending, children_of, hanging_on_lone, keeps_state
from graftax.checkpoint.index import Edge, Kind
from graftax.checkpoint.other_paths import further_paths, slot_ways, wholes_above
from graftax.checkpoint.outline import Narrow
from graftax.checkpoint.paths import STATE, escape, join, slot_path
from graftax.checkpoint.subset import RANDOM, Spot
from graftax.core.errors import ArgumentError, ArgumentTypeError, UnsupportedValue
from graftax.core.typedefs import VariableLike
from graftax.reparam.adapted import Adapted, adapter_of
from graftax.variables.graph.module import Module, Node
from graftax.variables.random_state import RandomState
from graftax.variables.variable import Variable

Root: TypeAlias = "Node | list[Any] | tuple[Any, ...] | dict[Any, Any]"


class Place:
    """An object in the graph: its kind, its shortest path and its children.

    ``thing`` is the object; for Python state, the Module that has it. ``role`` is the role of a Variable, else empty.
    ``wholes`` are the paths of the expressions that it is a part of, and ``further`` its own further paths. ``module``
    is the object itself if it is a Module, else the Module that holds it.
    """

    __slots__ = ("edges", "further", "kind", "module", "path", "role", "thing", "wholes")

    def __init__(
        self, thing: Any, kind: Kind, path: str, wholes: tuple[str, ...] = (), holder: Module | None = None
    ) -> None:
        self.thing = thing
        self.kind = kind
        self.path = path
        self.wholes = wholes
        self.further: tuple[str, ...] = ()
        if kind is Kind.VARIABLE:
            self.module, self.role = holder, getattr(thing, "role", "")
        else:
            self.module = thing if isinstance(thing, Module) else holder
            self.role = getattr(thing, "role", "") if isinstance(thing, VariableLike) else ""
        self.edges: dict[Edge, Place] = {}

    @property
    def spot(self) -> Spot:
        """Return what selectors see of the object."""
        return Spot(self.path, self.role, self.thing if self.role else None, (*self.wholes, *self.further))

    @property
    def type(self) -> str:
        """Return the name of the class, for display."""
        kind = type(self.thing)
        return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"

    def __repr__(self) -> str:
        return f"Place({self.path!r}, {self.kind.name.lower()})"


def _is_whole(place: Place) -> bool:
    """Return True for an expression, whose parts are selected by its path, too."""
    return isinstance(place.thing, VariableLike) and place.kind is Kind.OBJECT


class SlotPlace:
    """A slot of an optimizer. ``variable`` is None if the Variable of the slot is not in the graph.

    ``keeper`` is the class of optimizers that gives the slot its meaning.
    """

    __slots__ = ("keeper", "name", "optimizer", "slot", "variable")

    def __init__(self, optimizer: Place, name: str, variable: Place | None, slot: Place) -> None:
        self.optimizer = optimizer
        self.name = name
        self.variable = variable
        self.slot = slot
        self.keeper: str = optimizer.thing._gx_slot_class(name)


class Graph:
    """All objects below some roots, visited breadth-first, each once.

    Args:
        roots: Names and objects: Modules, Variables, or lists, tuples and dicts of them.
        settles: Whether Modules first create their lazy state, see `Module._gx_ensure_state`, and adopt objects that
            were appended to their lists, with the values that wait for these. Defaults to True.
        narrow: The part to visit, of roots that have nothing to settle. Defaults to None: everything.

    Raises:
        ArgumentTypeError: a root is none of these.
        UnsupportedValue: a dict has two keys that read the same.
    """

    def __init__(self, roots: Mapping[str, Root], settles: bool = True, narrow: Narrow | None = None) -> None:
        self.narrow = narrow
        self.roots: dict[str, Place] = {}
        self._known: dict[int, Place] = {}
        self.places: list[Place] = []
        level: list[Place] = []
        if RANDOM in roots:
            raise ArgumentError(
                f"a root called {RANDOM!r}",
                "the global seed is saved under that name",
                "Checkpoint(stream=...), or any other name",
            )
        for name, thing in roots.items():
            if not isinstance(thing, Node | list | tuple | dict):
                raise _no_root(f"{name}=", thing, f"{name}=")
            if narrow is not None and id(thing) not in narrow.kept:
                continue
            if settles and narrow is None:
                adopt_pending(thing, set())
            self.roots[name] = self._place(thing, escape(name), level)
        self._visit(level)
        self.hanging: dict[str, Place] = {}
        """The roots that were not given, but hang on Variables that no Module holds."""
        for name, thing in hanging_on_lone(roots).items() if narrow is None else ():
            if id(thing) not in self._known and name not in self.roots:  # a Module may have it, too
                if settles:
                    adopt_pending(thing, set())
                self.hanging[name] = self._place(thing, escape(name), level := [])
                self._visit(level)
        self.roots |= self.hanging
        self.slots = list(self._slots())

    def find_further_paths(self, accepts: Callable[[Place, str], bool]) -> None:
        """Let selectors know what is held several times by all of its paths, and its slots, too.

        Args:
            accepts: Tells whether a path through an expression that is made of something is a path of that: a restore
                may have another value for the expression.
        """
        first = {place: place.path for place in self.places}
        edges = [
            (place, edge, child)
            for place in self.places
            for edge, child in place.edges.items()
            if child.path != join(place.path, edge)
        ]
        found = further_paths(first, edges, lambda place: place.edges.items()) if edges else {}
        wholes = (
            {path for one in self.places if _is_whole(one) for path in (one.path, *found.get(one, ()))}
            if found
            else set()
        )
        for place, paths in found.items():
            above = {path: wholes_above(path, wholes) for path in paths}
            if not place.wholes:  # it does not belong to an expression alone
                above = {path: around for path, around in above.items() if not around or accepts(place, path)}
            place.further = tuple(above)
            place.wholes += tuple([one for around in above.values() for one in around])
        for slot in self.slots:
            if slot.variable is not None and slot.optimizer in first and slot.variable in first:
                ways = {place: [*place.further, *place.wholes] for place in (slot.optimizer, slot.variable)}
                slot.slot.further = tuple(slot_ways(slot.name, first, ways, slot.optimizer, slot.variable))

    def _visit(self, level: list[Place]) -> None:
        """Find everything below some objects, breadth-first."""
        narrow = self.narrow
        while level:
            deeper: list[Place] = []
            for place in level:
                if place.module is None:  # of a Module, the report says what is not saved
                    _check_items(place)
                seen: set[str] = set()
                wholes = (place.path, *place.wholes) if _is_whole(place) else place.wholes
                for edge, child in children_of(place.thing):
                    if narrow is not None and id(child) not in narrow.kept:
                        continue
                    if str(edge) in seen:
                        raise UnsupportedValue(
                            f"two keys that both read {edge} at {place.path}",
                            "a path could not tell them apart",
                            "use keys of one type",
                        )
                    seen.add(str(edge))
                    place.edges[edge] = self._place(child, join(place.path, edge), deeper, wholes, place.module)
                if isinstance(place.thing, Module) and place.kind is Kind.OBJECT and keeps_state(place.thing):
                    state = Place(place.thing, Kind.VALUE, join(place.path, STATE))
                    place.edges[STATE] = state
                    self.places.append(state)
            level = deeper

    def _place(
        self,
        thing: Any,
        path: str,
        level: list[Place],
        wholes: tuple[str, ...] = (),
        holder: Module | None = None,
    ) -> Place:
        place = self._known.get(id(thing))
        if place is None:
            place = self._known[id(thing)] = Place(thing, _kind(thing), path, wholes, holder)
            self.places.append(place)
            if not place.kind.is_leaf:
                level.append(place)
        return place

    def _slots(self) -> Iterator[SlotPlace]:
        for optimizer in list(self.places):
            if optimizer.kind is not Kind.OBJECT or not isinstance(optimizer.thing, Module):
                continue
            for record in optimizer.thing._gx_slot_records():
                variable = self._known.get(id(record.variable))
                slot = self._known.get(id(record.slot))
                if slot is None:
                    name = variable.path if variable is not None else record.variable.path
                    slot = Place(record.slot, Kind.VARIABLE, slot_path(optimizer.path, record.name, name))
                yield SlotPlace(optimizer, record.name, variable, slot)

    def path_of(self, module: Module | None) -> str:
        """Return the path of a Module; empty if it is not in the graph."""
        place = self._known.get(id(module))
        return "" if place is None else place.path

    def may_hold(self, place: Place, edge: Edge) -> bool:
        """Return False if the object under an edge is outside of the visited part."""
        return self.narrow is None or self.narrow.may_hold(place.thing, edge)

    @property
    def random(self) -> RandomState:
        """Return the global seed as a place of this graph."""
        return RandomState({name: place.thing for name, place in self.roots.items()})

    def parent_of(self, path: str) -> tuple[Place, str] | None:
        """Return the innermost existing object above a missing path, and the component below it; None below a leaf."""
        while "/" in path:
            path, _, component = path.rpartition("/")
            place = self.find(path)
            if place is not None:
                return None if place.kind.is_leaf else (place, component)
        return None

    def find(self, path: str) -> Place | None:
        """Return the object at any of its paths, or None. The given names of Modules may replace the edges to them."""
        first, *rest = path.split("/")
        place = next((p for name, p in self.roots.items() if escape(name) == first), None)
        for component in rest:
            if place is None:
                return None
            found = place.edges.get(component)
            if found is None:
                found = next((child for edge, child in place.edges.items() if escape(edge) == component), None)
            place = _child_named(place, component) if found is None else found
        return place


def _check_items(place: Place) -> None:
    """Raise if a list, tuple or dict that was given holds what a checkpoint does not keep."""
    things: Any = place.thing.items() if isinstance(place.thing, dict) else enumerate(place.thing)
    for edge, thing in things:
        if thing is not None and not isinstance(thing, Node | list | tuple | dict):
            raise _no_root(f"{place.path}[{edge!r}]: ", thing, f"{edge!r}: ")


def _no_root(place: str, value: Any, name: str) -> ArgumentTypeError:
    """Return the error for a value that cannot be a root; ``place`` is ``"ema="`` or so, ``name`` starts the line."""
    shape = getattr(value, "shape", None)
    if isinstance(value, int | float) and not isinstance(value, bool):
        instead = f'{name}graftax.Variable({value!r:.20}, trainable=False, role="counter")'
    elif shape is not None:
        instead = (
            f"{name}graftax.Variable(array, trainable=False), for each of a dict: {{k: graftax.Variable(v, "
            "trainable=False) for k, v in state.items()}; or the Module that it is the state of"
        )
    else:
        instead = "give the Module that holds it"
    shown = f"{value!r:.80}, of type" if shape is None else f"an array of shape {tuple(shape)}, of type"
    return ArgumentTypeError(
        f"{place}{shown} {type(value).__name__}",
        "a checkpoint takes Modules, Variables, and lists, tuples and dicts of them",
        instead,
    )


def _child_named(place: Place, name: str) -> Place | None:
    """Return the only Module held here that was given this name, or None."""
    found = [child for child in place.edges.values() if getattr(child.thing, "_gx_name", None) == name]
    return found[0] if len(found) == 1 else None


def objects_below(place: Place) -> dict[Place, None]:
    """Yield an object and everything below it, each once."""
    seen: dict[Place, None] = {}
    waiting = [place]
    while waiting:
        here = waiting.pop()
        if here not in seen:
            seen[here] = None
            waiting += here.edges.values()
    return seen


def leaves_of(place: Place) -> list[Place]:
    """Yield all leaves below an object, each once."""
    return [here for here in objects_below(place) if here.kind.is_leaf]


def attributes_of(place: Place, keeper: str = "") -> dict[str, Any]:
    """Return the attributes of a Variable that a checkpoint saves besides its value; ``keeper`` as in `SlotPlace`."""
    variable = place.thing
    found: dict[str, Any] = {} if (adapter := adapter_of(variable)) is None else {"adapter": adapter}
    found |= {"keeper": keeper} if keeper else {}
    found |= {"frozen": True} if variable.trainability.frozen else {}
    return found | ({"resting": True} if variable.trainability.resting else {})


def attributes_of_object(value: object) -> dict[str, Any] | None:
    """Return the attributes of an object that a checkpoint saves besides its contents; None for none."""
    found: dict[str, Any] = {"frozen": True} if isinstance(value, Module) and value._gx_frozen else {}
    found |= {"active": list(value.active)} if isinstance(value, Adapted) else {}
    facts = value._gx_facts() if isinstance(value, Module) else {}
    return found | ({"facts": facts} if facts else {}) or None


def _kind(value: Any) -> Kind:
    if isinstance(value, Variable):
        return Kind.VARIABLE
    if isinstance(value, dict):
        return Kind.DICT
    if isinstance(value, list):
        return Kind.LIST
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return Kind.TUPLE
    return Kind.OBJECT  # a Module, or a named tuple, whose edges are names, too


def path_below(path: str, above: Node, below: Node) -> str:
    """Return the path of what lies below a Node, which has this path itself."""
    return reduce(join, below._gx_way()[len(above._gx_way()) :], path)
