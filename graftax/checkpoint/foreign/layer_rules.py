"""Which rule a layer has: by its class, or the first of its base classes that has one.

Classes are named as text, so that loading weights imports no layers that the program does not have.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

T = TypeVar("T")


def rule_of(layer: object, table: Mapping[str, T]) -> T | None:
    """Return what a table of classes has for an object.

    Args:
        layer: The object.
        table: By module and class, without the beginning ``graftax.layers.``: ``"dense.Dense"``.
    """
    for kind in type(layer).__mro__:
        if kind.__module__.startswith("graftax.layers."):
            found = table.get(f"{kind.__module__.removeprefix('graftax.layers.')}.{kind.__qualname__}")
            if found is not None:
                return found
    return None
