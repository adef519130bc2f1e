"""Backends: what computes. See `graftax.backend.protocol` for what one must offer."""

import typing as _typing

from graftax.backend.registry import available as available
from graftax.backend.registry import current as current
from graftax.backend.registry import use as use
from graftax.core.namespaces import answering as _answering

if not _typing.TYPE_CHECKING:  # a checker should see which names there are
    __getattr__ = _answering("backend")

__all__ = [
    "available",
    "current",
    "use",
]


def __dir__() -> list[str]:
    return sorted(__all__)
