"""Which records of a checkpoint are those of expressions, whose arrays are no weights without them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from graftax.checkpoint.index import Kind, NodeRecord

_OURS = "graftax.reparam."  # of which checkpoints of version 0.1.0 do not say that they are expressions


def is_expression(record: NodeRecord) -> bool:
    """Return True for the record of an expression, or of an adapter of ours: arrays below are no weights without it."""
    if record.kind is not Kind.OBJECT:
        return False
    return record.facts.get("expression") is True or _has_adapters(record) or record.type.startswith(_OURS)


def adapters_among(records: Iterable[NodeRecord], nodes: Sequence[NodeRecord]) -> set[int]:
    """Return the nodes of the adapters of some records: what the dict of a weight that has adapters holds.

    Args:
        records: The records; others than those of weights that have adapters are passed over.
        nodes: All records.
    """
    dicts = (child for record in records if _has_adapters(record) for _, child in record.edges)
    return {adapter for child in dicts if nodes[child].kind is Kind.DICT for _, adapter in nodes[child].edges}


def _has_adapters(record: NodeRecord) -> bool:
    return record.kind is Kind.OBJECT and isinstance(record.payload, dict) and "active" in record.payload
