"""Random streams among the state that a function sees."""

from __future__ import annotations

from graftax.variables.state.storage import Storage


def is_stream(storage: Storage) -> bool:
    """Return True for the state of a random stream."""
    return getattr(storage.user, "role", None) == "seed"
