"""The settings of an expression: the plain values, such as numbers, with which it computes a weight from its parts."""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np

from graftax.variables.graph.module import Module
from graftax.variables.graph.node import ignored_attributes

_ATOMS = (type(None), bool, int, float, complex, str, bytes)
_OF_ALL = frozenset({"active", "adapters", "autocast", "constraint", "made_trainable", "role", "tolerance"})
"""What the base classes keep under public names: settings of the weight, or state, or limits of a check."""
_MOST = 1000
"""The most items of a list or dict that is a setting, rather than data."""


class _NotPlainError(Exception):
    """A value that is no setting, such as a function."""


def settings_of(expression: Module) -> dict[str, Any]:
    """Return the settings of an expression or an adapter by their names: numbers, texts, and lists and dicts of these.

    These are its public attributes with such values, except those in ``untracked``.

    Example:
        >>> import graftax as gx
        >>> layer = gx.layers.Dense(3)
        >>> layer.build((2,))
        >>> done = gx.graft(layer, gx.reparam.LoRA(rank=2, alpha=8), where="kernel")
        >>> settings_of(layer.kernel.adapters["lora"]), settings_of(layer.kernel)
        ({'scale': 4.0}, {})
    """
    skip = ignored_attributes(type(expression)) | _OF_ALL
    found: dict[str, Any] = {}
    for name, value in vars(expression).items():
        if not name.startswith("_") and name not in skip:
            try:
                found[name] = _plain(value)
            except _NotPlainError:
                continue
    return found


def is_same(one: object, other: object) -> bool:
    """Return True for settings of equal values; lists and tuples are alike, and a nan is always the same.

    Example:
        >>> is_same([1, 2.0], (1.0, 2)), is_same(0.5, "0.5")
        (True, False)
    """
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(is_same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_same(value, other[key]) for key, value in one.items())
    return one == other or (one != one and other != other)


def _plain(value: Any) -> Any:
    if type(value) in _ATOMS:
        return value
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, np.generic) and type(value.item()) in _ATOMS:
        return value.item()
    if isinstance(value, list | tuple) and len(value) <= _MOST:
        return [_plain(item) for item in value]
    if isinstance(value, dict) and len(value) <= _MOST and all(type(key) in _ATOMS for key in value):
        return {key: _plain(item) for key, item in value.items()}
    raise _NotPlainError
