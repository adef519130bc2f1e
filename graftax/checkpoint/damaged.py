"""What users do about a damaged checkpoint, and the error for an index that no save has written."""

from __future__ import annotations

from graftax.core.errors import CorruptMetadata

AGAIN = "copy or download the whole directory again; otherwise restore another checkpoint"
"""The advice for files that are not as they were written."""

FORGED = "another checkpoint, or another copy of this one: it was damaged, forged or written by another program"
"""The advice for a checkpoint whose index contradicts itself."""


def corrupt_error(record: str, why: str) -> CorruptMetadata:
    """Return the error for a record of the index that cannot be true."""
    return CorruptMetadata(f"{record} in the index of the checkpoint", why, FORGED)
