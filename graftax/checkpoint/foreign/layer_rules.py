"""The lookup of the rule for a layer: by its class, or by its first base class that has one.

Classes are named as text, so that loading weights imports no layers that the program does not use.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

T = TypeVar("T")


def rule_of(layer: object, table: Mapping[str, T]) -> T | None:
    """Return the entry of a table of classes for an object, or None.

    Args:
        layer: The object.
        table: Entries by module and class, without the prefix ``graftax.layers.``: ``"dense.Dense"``.
    """
    for kind in type(layer).__mro__:
        if kind.__module__.startswith("graftax.layers."):
            found = table.get(f"{kind.__module__.removeprefix('graftax.layers.')}.{kind.__qualname__}")
            if found is not None:
                return found
    return None
