"""Which records of a checkpoint are those of expressions, whose arrays are no weights without them."""

from __future__ import annotations

from collections.abc import Sequence

from graftax.checkpoint.index import Kind, NodeRecord

_OURS = "graftax.reparam."  # of which checkpoints of version 0.1.0 do not say that they are expressions


def is_expression(record: NodeRecord) -> bool:
    """Return True for the record of an expression, or of an adapter of ours: arrays below are no weights without it."""
    if record.kind is not Kind.OBJECT:
        return False
    return record.facts.get("expression") is True or _has_adapters(record) or record.type.startswith(_OURS)


def adapters_among(nodes: Sequence[NodeRecord]) -> set[int]:
    """Return the nodes of adapters: what the dict of a weight that has adapters holds."""
    dicts = (child for node in nodes if _has_adapters(node) for _, child in node.edges)
    return {adapter for child in dicts if nodes[child].kind is Kind.DICT for _, adapter in nodes[child].edges}


def _has_adapters(record: NodeRecord) -> bool:
    return record.kind is Kind.OBJECT and isinstance(record.payload, dict) and "active" in record.payload
