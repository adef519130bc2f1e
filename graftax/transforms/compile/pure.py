"""Functions of arrays that read no Variables, compiled where the backend can."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graftax.backend import registry


def compile_if_possible(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function compiled; as it is on a backend that does not compile."""
    backend = registry.current()
    return backend.compiling.compiled(function) if backend.has("compiling") else function
