"""Merging several checkpoints into one. Where two have the same path, one of them is preferred."""

from __future__ import annotations

from typing import Any

import numpy as np

from graftax.checkpoint.arrays import HostArray
from graftax.checkpoint.derived.sheet import Sheet, renumber
from graftax.checkpoint.index import Edge, Kind, NodeRecord, SlotRecord
from graftax.checkpoint.paths import escape
from graftax.checkpoint.state import renumber_arrays
from graftax.checkpoint.values import encode
from graftax.core.errors import RenameConflict

PREFERENCES = ("first", "last")


def merge(first: Sheet, other: Sheet, prefer: str | None) -> None:
    """Merge another checkpoint into the first.

    Args:
        first: The checkpoint to add to; its step, meta and random state are kept.
        other: The checkpoint to add.
        prefer: Whose values are kept at paths that both have, slots of optimizers included: ``"first"``, ``"last"``,
            None to allow equal ones only.

    Raises:
        RenameConflict: both have different values at one path, or other facts of an object, such as the columns of a
            table, and ``prefer`` is None; or two objects of one of them are one in the other; or one has a weight as
            an array and the other only adapters of it.
    """
    _Merge(first, other, prefer).run()


class _Merge:
    def __init__(self, first: Sheet, other: Sheet, prefer: str | None) -> None:
        self._first, self._prefer = first, prefer
        self._other = other
        self._nodes = len(first.nodes)
        self._tensors = len(first.tensors)
        self._same: dict[int, int] = {}
        self._taken: dict[int, int] = {}

    def run(self) -> None:
        first, other = self._first, self._other
        paths = first.paths()
        shift = {number: number + self._tensors for number in range(len(other.tensors))}
        first.tensors += other.tensors
        first.nodes += [renumber(node, lambda child: child + self._nodes, shift) for node in other.nodes]
        for name, node in other.roots.items():
            if name in first.roots:
                first.roots[name] = self._join(name, first.roots[name], node + self._nodes)
            else:
                first.roots[name] = node + self._nodes
        known = {(slot.optimizer, slot.name, slot.variable): slot.slot for slot in first.slots}
        for slot in other.slots:
            optimizer, variable, place = (number + self._nodes for number in slot[:1] + slot[2:])
            key = (self._same.get(optimizer, optimizer), slot.name, self._same.get(variable, variable))
            if key in known:
                self._join(paths.get(known[key], slot.name), known[key], place)
            else:
                first.slots.append(SlotRecord(*key, self._same.get(place, place)))
        for number in range(len(first.nodes)):
            edges = [(edge, self._same.get(child, child)) for edge, child in first.nodes[number].edges]
            first.set_edges(number, edges)
        # where an expression and a plain Variable met, the slots of the one that is not kept go with it
        first.slots = [slot for slot in first.slots if first.nodes[slot.variable].kind is Kind.VARIABLE]

    def _join(self, path: str, mine: int, theirs: int) -> int:
        """Return the node that merges both."""
        if self._same.get(theirs) == mine:
            return mine
        one, other = self._first.nodes[mine], self._first.nodes[theirs]
        if theirs in self._same or mine in self._taken:
            return self._find_other_tie(path, mine, theirs)
        self._check_no_parts_of_one(path, mine, theirs)
        if one.kind is other.kind or self._prefer == "last":
            self._same[theirs] = mine
            self._taken[mine] = theirs
        if not one.kind.is_leaf and one.kind is other.kind:
            return self._join_parts(path, mine, theirs)
        if not self._are_equal(one, other):
            if self._prefer is None:
                raise RenameConflict(
                    f"both have {path!r:.200}, with other values", "one path has one value", "--prefer first"
                )
            if self._prefer == "last":
                self._first.nodes[mine] = other
        return mine

    def _check_no_parts_of_one(self, path: str, mine: int, theirs: int) -> None:
        """Raise if one has a weight as an array, and the other only adapters of it: either choice would lose a part."""
        kinds = [self._first.nodes[node].kind for node in (mine, theirs)]
        for array, adapters, which, whose in ((0, 1, "first", "second"), (1, 0, "second", "first")):
            if kinds[array] is Kind.VARIABLE and self._has_adapters_alone((mine, theirs)[adapters]):
                raise RenameConflict(
                    f"{path!r:.200} is an array in the {which}, and in the {whose} an expression of which it has "
                    "the adapters alone",
                    "they are two parts of one weight, not two values of it: --prefer would lose the array or the "
                    "adapters",
                    "graftax ckpt restore BASE TARGET --save WHOLE, with a TARGET that has these adapters; then "
                    "graftax ckpt merge WHOLE ADAPTERS --prefer last --to OUT",
                )

    def _has_adapters_alone(self, node: int) -> bool:
        """Return True if each Variable below an object is a part of an adapter, and there is one."""
        nodes = self._first.nodes
        waiting, seen, found = [node], {node}, False
        while waiting:
            record = nodes[waiting.pop()]
            if record.kind is Kind.VARIABLE:
                if "adapter" not in record.payload[3]:
                    return False
                found = True
            below = [child for _, child in record.edges if child not in seen]
            seen.update(below)
            waiting += below
        return found and nodes[node].kind is Kind.OBJECT

    def _join_parts(self, path: str, mine: int, theirs: int) -> int:
        one, other = self._first.nodes[mine], self._first.nodes[theirs]
        edges: dict[Edge, int] = dict(one.edges)
        for edge, child in other.edges:
            edges[edge] = self._join(f"{path}/{escape(edge)}", edges[edge], child) if edge in edges else child
        attributes = self._join_attributes(path, one.payload or {}, other.payload or {})
        self._first.nodes[mine] = self._first.nodes[mine]._replace(payload=attributes or None)
        self._first.set_edges(mine, list(edges.items()))
        return mine

    def _join_attributes(self, path: str, mine: dict[str, Any], theirs: dict[str, Any]) -> dict[str, Any]:
        """Return what both keep of an object besides its contents, such as the columns of a table."""
        if self._prefer is not None:  # they belong to the values that are kept
            return theirs if self._prefer == "last" else mine
        mine, theirs = _with_whole_facts(mine, theirs), _with_whole_facts(theirs, mine)
        for name in {**mine, **theirs}:
            # a file may lack facts, while a setting that it lacks has another value
            if (name in mine and name in theirs) or name != "facts":
                known = [encode(one.get(name), path) for one in (mine, theirs)]
                if known[0] != known[1]:
                    raise RenameConflict(
                        f"both have {path!r:.200}, with other {name}: {mine.get(name)!r:.200} in the first, "
                        f"{theirs.get(name)!r:.200} in the second",
                        "they say what the values below this path mean, and one path has one meaning",
                        "--prefer first, which takes these, too, from the first",
                    )
        return {**theirs, **mine}

    def _find_other_tie(self, path: str, mine: int, theirs: int) -> int:
        """Return the node of a path where one checkpoint has two paths of one object, and the other two objects."""
        if self._prefer is None or not self._first.nodes[mine].kind.is_leaf:
            raise RenameConflict(
                f"{path!r:.200} is one object with another path in one checkpoint, and one of its own in the other",
                "merged, either values would be lost or weights would no longer be tied",
                "graftax ckpt extract CKPT --to OUT --skip SELECTOR for one of them, first",
            )
        return self._same.get(theirs, theirs) if self._prefer == "last" else mine

    def _are_equal(self, one: NodeRecord, other: NodeRecord) -> bool:
        if one.kind is not other.kind or not self._same_arrays(one, other):
            return False
        return repr(_without_arrays(one)) == repr(_without_arrays(other))

    def _same_arrays(self, one: NodeRecord, other: NodeRecord) -> bool:
        mine, theirs = ([self._first.tensors[number] for number in node.tensors] for node in (one, other))
        return [(x.dtype, x.shape) for x in mine] == [(y.dtype, y.shape) for y in theirs] and all(
            _same_numbers(x.array(), y.array()) for x, y in zip(mine, theirs, strict=True)
        )


def _same_numbers(one: HostArray, other: HostArray) -> bool:
    return one.tobytes() == other.tobytes() or np.array_equal(one, other)


def _without_arrays(node: NodeRecord) -> Any:
    """Return the payload of a leaf, its arrays numbered from 0."""
    if node.kind is Kind.VALUE:
        return renumber_arrays(node.payload, {number: i for i, number in enumerate(node.tensors)})
    if node.kind is Kind.VARIABLE:
        return node.payload[1:]
    return node.payload if node.tensor is None else node.payload[0]


def _with_whole_facts(mine: dict[str, Any], theirs: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes of an object, with what only the other file says: that it is an expression, or none."""
    here, there = mine.get("facts"), theirs.get("facts")
    if not isinstance(here, dict) or not isinstance(there, dict) or "expression" not in there:
        return mine
    return {**mine, "facts": {"expression": there["expression"], **here}}
