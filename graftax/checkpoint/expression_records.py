"""Which records of a checkpoint are those of expressions, whose arrays are no weights without them."""

from __future__ import annotations

from graftax.checkpoint.index import Kind, NodeRecord

_OURS = "graftax.reparam."


def is_expression(record: NodeRecord) -> bool:
    """Return True for the record of an expression or an adapter, whose arrays are no weights without it."""
    if record.kind is not Kind.OBJECT:
        return False
    payload = record.payload if isinstance(record.payload, dict) else {}
    return record.type.startswith(_OURS) or "settings" in record.facts or "active" in payload
