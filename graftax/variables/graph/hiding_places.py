"""Containers in which the object graph is not looked for: who puts Variables there is warned."""

from __future__ import annotations

from collections import ChainMap, UserDict, UserList, deque
from collections.abc import Iterable
from types import MappingProxyType
from typing import Any

import numpy as np

from graftax.core import user_line
from graftax.variables.graph.node import holds_node

_VIEWS = tuple(map(type, ({}.keys(), {}.values(), {}.items())))
_MAPPINGS = (MappingProxyType, UserDict, ChainMap)

HIDING_PLACES: tuple[type[Any], ...] = (set, frozenset, deque, np.ndarray, UserList, *_MAPPINGS, *_VIEWS)
"""Looking through these is cheap and changes nothing, which is not known of every sequence of somebody's own."""


def warn_if_hidden(owner: object, name: object, value: Any) -> None:
    """Warn if such a container, assigned to an attribute or within one, holds Modules or Variables."""
    if isinstance(value, np.ndarray):
        elements: Iterable[Any] = value.flat if value.dtype == object else ()
    else:
        elements = value.values() if isinstance(value, _MAPPINGS) else value
    if not any(holds_node(element) for element in elements):
        return
    kind = "an ndarray of objects" if isinstance(value, np.ndarray) else f"a {type(value).__name__}"
    why = ", since a set has no order" if isinstance(value, set | frozenset) else ""
    user_line.warn(
        f"{type(owner).__name__}.{name} is {kind} that holds Modules or Variables: they are not found in there, "
        f"neither trained nor saved{why}. Use a list or a dict.",
    )
