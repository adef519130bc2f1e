"""Which records of a checkpoint are those of expressions, whose arrays are no weights without them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from graftax.checkpoint.index import Kind, NodeRecord

_OURS = "graftax.reparam."
_METRICS = "graftax.metrics."


def is_expression(record: NodeRecord) -> bool:
    """Return True for the record of an expression, or of an adapter of ours: arrays below are no weights without it."""
    if record.kind is not Kind.OBJECT:
        return False
    said = record.facts.get("expression")
    if said is None:  # older files do not say it, and have settings of expressions and of metrics
        said = "settings" in record.facts and not record.type.startswith(_METRICS)
    return said is True or _has_adapters(record) or record.type.startswith(_OURS)


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
