"""What a checkpoint says of objects besides values: classes, flags, roles, settings, columns, and what is tied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from graftax.checkpoint.index import Index, Kind, NodeRecord
from graftax.checkpoint.paths import escape, join, slot_path


def aliases(index: Index, paths: Mapping[int, str]) -> Iterator[tuple[str, str]]:
    """Yield each further path of what is held several times, with its first path.

    Args:
        index: The index.
        paths: The first paths of nodes.
    """
    for name, node in index.roots.items():
        if paths[node] != escape(name):
            yield escape(name), paths[node]
    for node, path in paths.items():
        for edge, child in index.nodes[node].edges:
            here = join(path, edge)
            if paths[child] != here:
                yield here, paths[child]
    for slot in index.slots:
        if slot.optimizer in paths and slot.variable in paths:
            here = slot_path(paths[slot.optimizer], slot.name, paths[slot.variable])
            if paths[slot.slot] != here:
                yield here, paths[slot.slot]


def is_told_alike(one: NodeRecord, other: NodeRecord) -> bool:
    """Return True if two nodes agree in all but values, as most do."""
    if one.kind is not other.kind or one.type != other.type:
        return False
    if one.kind is Kind.VARIABLE:
        same = one.payload[1:] == other.payload[1:]
        return bool(same) and (one.payload[0] is None) is (other.payload[0] is None)
    if one.kind is Kind.OBJECT:
        return bool(one.payload == other.payload)
    return one.kind is not Kind.DICT or _keys(one) == _keys(other)


def describe_node(record: NodeRecord) -> dict[str, Any]:
    """Return what a node says besides its value and contents, by names for display."""
    found: dict[str, Any] = {"class": record.type.rpartition(".")[2]}
    if record.kind is Kind.VARIABLE:
        tensor, trainable, role, attributes = record.payload
        found |= {} if tensor is not None else {"saved": False}
        return found | {"trainable": trainable, "role": role} | dict(attributes)
    if record.kind is Kind.OBJECT and isinstance(record.payload, dict):
        found |= {name: value for name, value in record.payload.items() if name != "facts"}
        facts = dict(record.facts)
        facts.pop("expression", None)  # its class says that, and checkpoints of version 0.1.0 do not
        settings = facts.pop("settings", {})
        found |= facts | (settings if isinstance(settings, dict) else {"settings": settings})
    if record.kind is Kind.DICT and _keys(record):
        found["keys that are numbers"] = _keys(record)
    return found


def _keys(record: NodeRecord) -> list[int]:
    return [edge for edge, _ in record.edges if type(edge) is int] if record.kind is Kind.DICT else []
