"""Drawing the graph of a checkpoint: nodes, edges, slots and the list of arrays, before any value is read.

A sketch is valid as long as the structure of the program stays the same. So repeated saves draw once; afterwards they
only compare the structure (see `Seen`), take references to arrays and ask for Python state.
"""

from collections.abc import Mapping, Sequence
from itertools import chain, count
from operator import is_
from typing import Any, NamedTuple

from graftax.checkpoint.arrays import check_dtype, to_bytes
from graftax.checkpoint.children import keeps_slots
from graftax.checkpoint.commit import Draft
from graftax.checkpoint.decode_records import MAX_EDGE, MAX_RANK
from graftax.checkpoint.graph import Graph, Place, SlotPlace, attributes_of, attributes_of_object
from graftax.checkpoint.index import Kind, NodeRecord, SlotRecord
from graftax.checkpoint.index_form import KeptForm
from graftax.checkpoint.layout import Item
from graftax.checkpoint.lost_slots import LostSlots, find_lost_slots
from graftax.checkpoint.not_saved import Beside
from graftax.checkpoint.paths import with_ancestors
from graftax.checkpoint.snapshot import take
from graftax.checkpoint.state import freeze_value
from graftax.checkpoint.waiting import WaitingPlace
from graftax.core.errors import UnsupportedValue
from graftax.variables.graph.module import Module, Node
from graftax.variables.random_state import RandomState
from graftax.variables.state.home import Assigned
from graftax.variables.variable import Variable

_INLINE = 64 << 10  # values of type bytes longer than this are written to a data file
_NOTHING = memoryview(b"")


class Sketch(NamedTuple):
    """A draft without values. ``holes`` are the numbers of the items that wait for the arrays of ``variables``."""

    items: Sequence[Item]
    holes: Sequence[int]
    variables: Sequence[tuple[Variable, str]]
    states: Sequence[tuple[int, Place]]
    nodes: Sequence[NodeRecord]
    roots: dict[str, int]
    slots: Sequence[SlotRecord]
    left_out: tuple[str, ...]
    waiting: tuple[str, ...]
    random: RandomState | None = None
    plain: tuple[str, ...] = ()
    beside: Beside | None = None
    form: KeptForm | None = None
    lost: tuple[LostSlots, ...] = ()

    def fill(self, step: int | None, meta: Mapping[str, Any], writer: Mapping[str, str]) -> Draft:
        """Return the draft with references to the current arrays, and copies of the Python state."""
        states = [(number, place, place.thing.get_state()) for number, place in self.states]
        random = self.random.get_state() if self.random is not None else None
        items, nodes = list(self.items), list(self.nodes)
        for hole, taken in zip(self.holes, take(self.variables), strict=True):
            dtype, shape, name = items[hole][:3]
            items[hole] = Item(dtype, shape, name, taken)
        if states:
            filler = _States(items)
            for number, place, state in states:
                nodes[number] = filler.node(nodes[number], place, state)
        return Draft(items, nodes, self.roots, self.slots, step, meta, writer, random, self._list_assigned(), self.form)

    def _list_assigned(self) -> frozenset[str]:
        if not Assigned.counts:
            return frozenset()
        storages = [v._storage for v, _ in self.variables]
        found = Assigned.counts_of(storages)
        named = zip(self.holes, self.variables, storages, strict=True)
        # those of metrics begin anew in each epoch
        return frozenset(self.items[i].name for i, (v, _), s in named if s in found and v.role != "metric")


class _States:
    """Python state that is added to a draft; its arrays come after all others."""

    def __init__(self, items: list[Item]) -> None:
        self._items = items
        self._names = {item.name for item in items}

    def node(self, node: NodeRecord, place: Place, state: Any) -> NodeRecord:
        """Return the node with the Python state as its payload."""
        if type(state) is not bytes:
            return node._replace(payload=freeze_value(state, place.path, self._array))
        raw = memoryview(state)
        kept = state if len(raw) <= _INLINE else self._add(Item("uint8", (len(raw),), place.path, raw))
        return node._replace(kind=Kind.BYTES, payload=("bytes", kept))

    def _array(self, array: Any, path: str) -> int:
        """Add an array of Python state. Two with the same path, as for the keys 1 and "1", get numbers."""
        free = next(name for i in count() if (name := f"{path}~{i}" if i else path) not in self._names)
        return self._add(Item(array.dtype.name, array.shape, free, to_bytes(array, path)))

    def _add(self, item: Item) -> int:
        self._items.append(check_item(item, self._names))
        return len(self._items) - 1


class Drawing:
    """The builder of a sketch. Nodes are in depth-first order, so that the arrays of one module lie side by side."""

    def __init__(self, graph: Graph, chosen: set[Place], whole: bool) -> None:
        self._items: list[Item] = []
        self._holes: list[int] = []
        self._variables: list[tuple[Variable, str]] = []
        self._states: list[tuple[int, Place]] = []
        self._nodes: list[NodeRecord] = []
        self._slots: list[SlotRecord] = []
        self._left_out: list[SlotPlace] = []
        self._kept: list[SlotPlace] = []
        self._waiting: list[str] = []
        self._numbers: dict[Place, int] = {}
        self._names: set[str] = set()
        all_edges = ((place, child) for place in graph.places for child in place.edges.values())
        known = chosen | {place for place in graph.places if whole and _is_told_unused(place)}
        kept = with_ancestors(known, all_edges) | (set(graph.roots.values()) if whole else set())
        waiting = [place for place in reversed(graph.roots.values()) if place in kept]
        order: list[Place] = []
        while waiting:
            place = waiting.pop()
            if place not in self._numbers:
                self._numbers[place] = len(order)
                order.append(place)
                waiting += [child for child in reversed(place.edges.values()) if child in kept]
        for place in order:
            edges = tuple([(edge, self._numbers[child]) for edge, child in place.edges.items() if child in kept])
            for edge, _ in edges:
                _check_edge(edge, place.path)
            self._nodes.append(self._node(place, edges))
        self._roots = {name: self._numbers[place] for name, place in graph.roots.items() if place in kept}

    def add_slot(self, slot: SlotPlace) -> None:
        """Add a slot, or note that it is left out because its optimizer or its Variable is not part of the draft."""
        if slot.variable not in self._numbers or slot.optimizer not in self._numbers:
            self._left_out.append(slot)
            return
        self._kept.append(slot)
        if slot.slot not in self._numbers:
            self._numbers[slot.slot] = len(self._nodes)
            self._nodes.append(self._node(slot.slot, (), slot.keeper))
        numbers = self._numbers
        self._slots.append(SlotRecord(numbers[slot.optimizer], slot.name, numbers[slot.variable], numbers[slot.slot]))

    def sketch(self) -> Sketch:
        """Return the finished sketch."""
        return Sketch(
            self._items,
            self._holes,
            self._variables,
            self._states,
            self._nodes,
            self._roots,
            self._slots,
            tuple([slot.slot.path for slot in self._left_out]),
            tuple(self._waiting),
            form=KeptForm(self._items, [number for number, _ in self._states]),
        )

    def find_lost_slots(self, is_chosen: bool) -> tuple[LostSlots, ...]:
        """Return the optimizers of the draft without any of their slots; ``is_chosen`` for a part of the program."""
        return find_lost_slots([s for s in self._left_out if s.optimizer in self._numbers], self._kept, is_chosen)

    def _node(self, place: Place, edges: tuple[Any, ...], keeper: str = "") -> NodeRecord:
        payload: Any = None
        if isinstance(place, WaitingPlace):
            payload = place.record.payload
            if place.kind is Kind.VARIABLE:
                self._waiting.append(place.path)
                array: Any = place.value
                item = Item(array.dtype.name, array.shape, place.path, to_bytes(array, place.path))
                payload = (self._add(item), *payload[1:])
        elif place.kind is Kind.VARIABLE:
            variable = place.thing
            self._variables.append((variable, place.path))
            self._holes.append(self._add(Item(str(variable.dtype), tuple(variable.shape), place.path, _NOTHING)))
            payload = (self._holes[-1], bool(variable.trainable), place.role, attributes_of(place, keeper))
        elif place.kind is Kind.OBJECT:
            payload = attributes_of_object(place.thing)
        elif place.kind is Kind.VALUE:
            self._states.append((len(self._nodes), place))
        return NodeRecord(place.kind, place.type, edges, payload)

    def _add(self, item: Item) -> int:
        self._items.append(check_item(item, self._names))
        return len(self._items) - 1


def check_item(item: Item, names: set[str]) -> Item:
    """Return an item with a unique name that readers accept.

    Raises:
        UnsupportedValue: no reader would accept its name, its dtype or its rank.
    """
    name = "%5F_metadata__" if item.name == "__metadata__" else item.name
    if name in names:
        raise UnsupportedValue(f"two values at {name}", "a path could not tell them apart", "rename an attribute")
    if not name.isascii():
        try:
            name.encode()
        except UnicodeEncodeError as error:
            raise UnsupportedValue(f"the path {name!r}", "it is no valid Unicode", "rename the key") from error
    check_dtype(item.dtype, item.name)
    if len(item.shape) > MAX_RANK:
        raise UnsupportedValue(
            f"an array of rank {len(item.shape)} at {item.name}", f"readers accept {MAX_RANK} axes", "reshape it"
        )
    names.add(name)
    return item if name == item.name else item._replace(name=name)


def _is_told_unused(place: Place) -> bool:
    """Return whether a checkpoint has an object even without Variables: a restore can make it as unused again."""
    if place.kind is not Kind.OBJECT or not isinstance(place.thing, Module):
        return False
    return type(place.thing)._gx_start_of is not Module._gx_start_of


def _check_edge(edge: Any, path: str) -> None:
    if isinstance(edge, int):
        if not -(1 << 63) <= edge < 1 << 64:
            raise UnsupportedValue(f"the key {edge} of {path}", "a key has at most 64 bits", "its text: str(key)")
    elif len(edge) > MAX_EDGE // 4 and len(edge.encode(errors="replace")) > MAX_EDGE:
        raise UnsupportedValue(
            f"a key of {len(edge):,} characters, {edge[:40]!r}..., of {path}",
            f"readers accept {MAX_EDGE:,} bytes",
            "a shorter key",
        )


class Seen:
    """A record of the structure of a graph: attributes of Modules and Variables, and the items of their containers.

    Objects are compared by identity. They are kept alive here, since a new object could get the id of a deleted one.
    """

    def __init__(self, graph: Graph, roots: Mapping[str, Any]) -> None:
        self._attributes: list[dict[str, Any]] = []  # of Variables: any change counts
        self._holders: list[_Holder] = []  # Modules and containers: changes of numbers and text in them do not count
        self._slots: list[tuple[Module, list[tuple[str, int, int]]]] = []
        self._facts: list[tuple[Module, dict[str, Any]]] = []  # numbers and text that are saved all the same
        self._roots = dict(roots)
        known: set[int] = set()
        self._note(self._roots, known)
        for place in [*graph.places, *(slot.slot for slot in graph.slots)]:
            thing = place.thing
            if isinstance(thing, Variable):
                self._attributes.append(thing.__dict__)
            elif isinstance(thing, Module):
                if place.kind is not Kind.VALUE:
                    self._note(thing.__dict__, known)
                    if type(thing)._gx_facts is not Module._gx_facts:
                        self._facts.append((thing, thing._gx_facts()))
                    if keeps_slots(thing):  # even if it has none so far
                        self._slots.append((thing, _slots(thing)))
            else:
                self._note(thing, known)
        self._counts = list(map(len, self._attributes))
        self._values = list(chain.from_iterable(map(dict.values, self._attributes)))

    def is_still(self, roots: Mapping[str, Any]) -> bool:
        """Return True if nothing has changed since."""
        if list(roots) != list(self._roots) or not all(map(is_, roots.values(), self._roots.values())):
            return False
        # tens of thousands of comparisons, so no Python code runs for each of them
        if list(map(len, self._attributes)) != self._counts:
            return False
        if not all(map(is_, chain.from_iterable(map(dict.values, self._attributes)), self._values)):
            return False
        if not all((one.is_same() and one.has_same_keys()) or one.is_alike() for one in self._holders):
            return False
        if not all(module._gx_facts() == facts for module, facts in self._facts):
            return False
        return all(_slots(module) == slots for module, slots in self._slots)

    def _note(self, value: Any, ids: set[int]) -> None:
        """Record the items of a container, and of the containers in it."""
        if not isinstance(value, list | dict | tuple) or id(value) in ids:
            return
        ids.add(id(value))
        self._holders.append(_Holder(value))
        for inner in self._holders[-1].held:
            self._note(inner, ids)


class _Holder:
    """A container, or the attributes of an object, with its recorded items."""

    __slots__ = ("container", "held", "keys")

    def __init__(self, container: Any) -> None:
        self.container = container
        self.held = tuple(container.values() if isinstance(container, dict) else container)
        self.keys = tuple(container) if isinstance(container, dict) else None

    def is_same(self) -> bool:
        """Return True if it holds the identical objects, in the same order."""
        now = self.container
        if len(now) != len(self.held):
            return False
        return all(map(is_, now.values() if self.keys is not None else now, self.held))

    def has_same_keys(self) -> bool:
        """Return True if it has the same keys as recorded."""
        return self.keys is None or tuple(self.container) == self.keys

    def is_alike(self) -> bool:
        """Return True if only numbers and the like have changed, which are not part of the graph, and record these."""
        now = _Holder(self.container)
        if _structural(now) != _structural(self):
            return False
        self.held, self.keys = now.held, now.keys
        return True


def _structural(holder: _Holder) -> list[tuple[Any, int]]:
    """Return the keys of the items that are part of the graph, or that graftax itself keeps."""
    keys: Sequence[Any] = holder.keys if holder.keys is not None else range(len(holder.held))
    return [
        (key, id(value))
        for key, value in zip(keys, holder.held, strict=True)
        if isinstance(value, Node | list | dict | tuple) or (isinstance(key, str) and key.startswith("_"))
    ]


def _slots(module: Module) -> list[tuple[str, int, int]]:
    return [(record.name, id(record.variable), id(record.slot)) for record in module._gx_slot_records()]
