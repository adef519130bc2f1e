"""The functions of the ops by name, each made when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from graftax.ops.dispatch import build
from graftax.ops.table import OPS


@cache
def built(name: str) -> Callable[..., Any]:
    """Return the function of an op."""
    return build(OPS[name])
