"""Backends: what computes. See `graftax.backend.protocol` for what one must offer."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from graftax.backend.registry import available as available
from graftax.backend.registry import current as current
from graftax.backend.registry import use as use
from graftax.namespaces import answering as _answering

if not _TYPE_CHECKING:  # a checker should see which names there are
    __getattr__ = _answering("backend")

__all__ = [
    "available",
    "current",
    "use",
]


def __dir__() -> list[str]:
    return sorted(__all__)
