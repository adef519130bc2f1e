"""Backends: what computes. `graftax.backend.api` says what one must offer, for whoever writes one."""

import typing as _typing
from importlib import import_module

from graftax.backend.compiler_options import options as options
from graftax.backend.registry import available as available
from graftax.backend.registry import current as current
from graftax.backend.registry import use as use
from graftax.core.namespaces import make_getattr as _answering

if _typing.TYPE_CHECKING:
    from graftax.backend import api as api
    from graftax.backend import testing as testing
else:  # a checker should see which names there are
    _missing = _answering("backend")

    def __getattr__(name: str) -> object:
        if name in ("api", "testing"):  # for authors alone: they reach into everything
            return import_module(f"graftax.backend.{name}")
        return _missing(name)


__all__ = [
    "api",
    "available",
    "current",
    "options",
    "testing",
    "use",
]


def __dir__() -> list[str]:
    return sorted(__all__)
