"""Backends: what computes. See `graftax.backend.protocol` for what one must offer."""

from graftax.backend.registry import available as available
from graftax.backend.registry import current as current
from graftax.backend.registry import use as use

__all__ = [
    "available",
    "current",
    "use",
]


def __dir__() -> list[str]:
    return sorted(__all__)
