"""From objects of a program to a checkpoint on disk."""

import os
from collections.abc import Mapping, Sequence
from copy import deepcopy
from itertools import count
from typing import Any, NamedTuple

from graftax.checkpoint import values
from graftax.checkpoint.arrays import check_dtype, to_bytes
from graftax.checkpoint.commit import Draft, commit
from graftax.checkpoint.decode import MAX_EDGE, MAX_RANK
from graftax.checkpoint.files import FileSystem
from graftax.checkpoint.graph import Graph, Place, SlotPlace, attributes_of
from graftax.checkpoint.index import Kind, NodeRecord, SlotRecord
from graftax.checkpoint.layout import Item
from graftax.checkpoint.snapshot import take
from graftax.checkpoint.state import frozen
from graftax.checkpoint.subset import Subset
from graftax.checkpoint.waiting import WaitingPlace, add_waiting
from graftax.checkpoint.writer_record import writer_record
from graftax.core.errors import ArgumentError, UnsupportedValue
from graftax.variables.graph.module import Module
from graftax.variables.variable import Variable

_INLINE = 64 << 10  # opaque bytes longer than this are kept in a data file


class SaveReport(NamedTuple):
    """What a save wrote, and which slots it had to leave out because their Variable was not part of it.

    ``waiting`` are the paths of restored values that still wait for layers that are not built: the new checkpoint has
    them as the one has that they come from.
    """

    path: str
    step: int | None
    arrays: int
    nbytes: int
    left_out: tuple[str, ...]
    waiting: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"saved {self.arrays:,} arrays, {self.nbytes:,} bytes, at {self.path}"]
        lines += [f"  left out {path}: its variable was not saved" for path in self.left_out]
        lines += [f"  passed on {path}: it still waits for its layer to be built" for path in self.waiting]
        return "\n".join(lines)


class Prepared(NamedTuple):
    """A save of which nothing can change any more: arrays are references, Python state is a copy."""

    draft: Draft
    left_out: tuple[str, ...]
    waiting: tuple[str, ...]

    def report(self, path: str, nbytes: int | None = None) -> SaveReport:
        """What is told of it; without the size of its files, that of its arrays."""
        items = self.draft.items
        size = sum(item.nbytes for item in items) if nbytes is None else nbytes
        return SaveReport(path, self.draft.step, len(items), size, self.left_out, self.waiting)


def write(
    path: str | os.PathLike[str],
    prepared: Prepared,
    *,
    overwrite: bool = False,
    base: str | os.PathLike[str] | None = None,
    fs: FileSystem | None = None,
) -> SaveReport:
    """Write what was prepared; see `graftax.checkpoint.checkpoint.Checkpoint.save`."""
    index = commit(path, prepared.draft, overwrite=overwrite, fs=fs, base=base)
    return prepared.report(os.fspath(path), index.nbytes)


def prepare(
    path: str | os.PathLike[str],
    graph: Graph,
    subset: Subset,
    step: int | None = None,
    meta: Mapping[str, Any] | None = None,
) -> Prepared:
    """Take the chosen part of a graph as it is now."""
    if step is not None and (type(step) is not int or not 0 <= step < 1 << 63):
        raise ArgumentError(f"step={step!r}", "a step is an int, zero or more", "step=int(counter.value)")
    meta = dict(meta or {})
    if not all(type(key) is str for key in meta):
        raise ArgumentError(f"meta with the keys {list(meta)!r:.100}", "the keys of meta are text", 'meta={"note": 1}')
    values.encode(meta, "meta")
    meta = deepcopy(meta)
    add_waiting(graph)
    leaves = [place for place in graph.places if place.kind.is_leaf]
    subset.check(place.spot for place in [*leaves, *(slot.slot for slot in graph.slots)])
    chosen = {place for place in leaves if place.spot in subset}
    if not chosen:
        raise ArgumentError(
            f"nothing to save at {os.fspath(path)}",
            "the roots hold no Variables" if not leaves else "only= and skip= leave nothing",
            "build the model first: call it on an example" if not leaves else "choose less narrowly",
        )
    if subset.is_all and all(_is_stream_of_unbuilt(place.thing) for place in chosen):
        raise ArgumentError(
            f"nothing to save at {os.fspath(path)} but random streams: {', '.join(place.path for place in chosen)}",
            "the layers that hold them are not built, so that there are no weights",
            "build the model first: call it on an example",
        )
    wanted = [slot for slot in graph.slots if slot.slot.spot in subset]
    drawing = _Drawing(graph, chosen, subset.is_all, [slot.slot for slot in wanted])
    left_out = [slot.slot.path for slot in wanted if not drawing.add_slot(slot)]
    writer = writer_record()
    draft = Draft(drawing.items, drawing.nodes, drawing.roots, drawing.slots, step, meta, writer)
    return Prepared(draft, tuple(left_out), drawing.waiting)


def _is_stream_of_unbuilt(thing: Any) -> bool:
    if not isinstance(thing, Variable) or thing.role != "seed":
        return False
    above = thing._gx_owner
    while above is not None:
        if above._gx_lacks_weights:
            return True
        above = above._gx_owner
    return False


class _Drawing:
    """The draft as it grows: nodes in depth-first order, so that the arrays of one module lie side by side."""

    def __init__(self, graph: Graph, chosen: set[Place], whole: bool, slots: Sequence[Place] = ()) -> None:
        self._states = {p: p.thing.get_state() for p in chosen if p.kind is Kind.VALUE and p.thing is not None}
        held = [p for p in dict.fromkeys((*chosen, *slots)) if p.kind is Kind.VARIABLE and p.thing is not None]
        self._arrays = dict(zip(held, take([(p.thing, p.path) for p in held]), strict=True))
        self.items: list[Item] = []
        self.nodes: list[NodeRecord] = []
        self.slots: list[SlotRecord] = []
        self.waiting: tuple[str, ...] = ()
        self._numbers: dict[Place, int] = {}
        self._names: set[str] = set()
        kept = _with_ancestors(graph, chosen) | (set(graph.roots.values()) if whole else set())
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
            self.nodes.append(self._node(place, edges))
        self.roots = {name: self._numbers[place] for name, place in graph.roots.items() if place in kept}

    def add_slot(self, slot: SlotPlace) -> bool:
        """Add a slot; False if its optimizer or its Variable is not part of the draft."""
        if slot.variable not in self._numbers or slot.optimizer not in self._numbers:
            return False
        if slot.slot not in self._numbers:
            self._numbers[slot.slot] = len(self.nodes)
            self.nodes.append(self._node(slot.slot, (), slot.keeper))
        numbers = self._numbers
        self.slots.append(SlotRecord(numbers[slot.optimizer], slot.name, numbers[slot.variable], numbers[slot.slot]))
        return True

    def _node(self, place: Place, edges: tuple[Any, ...], keeper: str = "") -> NodeRecord:
        payload: Any = None
        kind = place.kind
        if isinstance(place, WaitingPlace):
            payload = place.record.payload
            if kind is Kind.VARIABLE:
                self.waiting += (place.path,)
                payload = (self._item(place.path, place.value), *payload[1:])
        elif kind is Kind.VARIABLE:
            taken = self._arrays[place]
            tensor = self._add(Item(taken.array.dtype.name, tuple(taken.array.shape), place.path, taken))
            payload = (tensor, bool(place.thing.trainable), place.role, attributes_of(place, keeper))
        elif kind is Kind.OBJECT:
            payload = {"frozen": True} if isinstance(place.thing, Module) and place.thing._gx_frozen else None
        elif kind is Kind.VALUE:
            payload = self._states[place]
            if type(payload) is bytes:
                kind = Kind.BYTES
                raw = memoryview(payload)
                kept = payload if len(raw) <= _INLINE else self._add(Item("uint8", (len(raw),), place.path, raw))
                payload = ("bytes", kept)
            else:
                payload = frozen(payload, place.path, self._state_array)
        return NodeRecord(kind, place.type, edges, payload)

    def _state_array(self, array: Any, path: str) -> int:
        """An array of Python state; two under one path, as of the keys 1 and "1", are told apart by a number."""
        free = next(name for i in count() if (name := f"{path}~{i}" if i else path) not in self._names)
        return self._item(free, array)

    def _item(self, path: str, array: Any) -> int:
        return self._add(Item(array.dtype.name, array.shape, path, to_bytes(array, path)))

    def _add(self, item: Item) -> int:
        name = "%5F_metadata__" if item.name == "__metadata__" else item.name
        if name in self._names:
            raise UnsupportedValue(f"two values at {name}", "a path could not tell them apart", "rename an attribute")
        try:
            name.encode()
        except UnicodeEncodeError as error:
            raise UnsupportedValue(f"the path {name!r}", "it is no valid Unicode", "rename the key") from error
        check_dtype(item.dtype, item.name)
        if len(item.shape) > MAX_RANK:
            raise UnsupportedValue(
                f"an array of rank {len(item.shape)} at {item.name}", f"readers accept {MAX_RANK} axes", "reshape it"
            )
        self._names.add(name)
        self.items.append(item._replace(name=name))
        return len(self.items) - 1


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


def _with_ancestors(graph: Graph, chosen: set[Place]) -> set[Place]:
    parents: dict[Place, list[Place]] = {}
    for place in graph.places:
        for child in place.edges.values():
            parents.setdefault(child, []).append(place)
    kept = set(chosen)
    waiting = list(chosen)
    while waiting:
        for parent in parents.get(waiting.pop(), ()):
            if parent not in kept:
                kept.add(parent)
                waiting.append(parent)
    return kept
