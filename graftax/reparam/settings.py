"""The settings of an expression: the plain values, such as numbers, with which it computes a weight from its parts."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

import numpy as np

from graftax.reparam.array_settings import array_setting, is_checksum, text_of_array
from graftax.reparam.function_settings import describe_function, is_function_setting, is_same_function, text_of_function
from graftax.variables.graph.module import Module
from graftax.variables.graph.node import Node, ignored_attributes

_ATOMS = (type(None), bool, int, float, complex, str, bytes)
_OF_ALL = frozenset({"active", "adapters", "autocast", "constraint", "made_trainable", "role", "tolerance"})
"""What the base classes keep under public names: settings of the weight, or state, or limits of a check."""
_MOST = 1000
"""The most items of a list or dict that is a setting, rather than data."""
_DEEPEST = 16


class _NotPlainError(Exception):
    """A value that is no setting, such as a layer."""


def settings_of(expression: Module) -> dict[str, Any]:
    """Return the settings of an expression or an adapter by their names, as plain values.

    These are its public attributes that are numbers, texts, small arrays and functions, or lists and dicts of these,
    except those in ``untracked``. Of a function there is what can be known of it, see
    `graftax.reparam.function_settings`, and of a larger array a checksum.

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
    for name, value in list(vars(expression).items()):
        if not name.startswith("_") and name not in skip:
            try:
                found[name] = _plain(value, 0)
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
    if is_function_setting(one) and is_function_setting(other):
        return is_same_function(one, other, is_same)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_same(value, other[key]) for key, value in one.items())
    return one == other or (one != one and other != other)


def text_of(settings: Mapping[str, Any]) -> str:
    """Return settings as a line of text, for messages."""
    return ", ".join(f"{name}={_text(value)}" for name, value in settings.items())


def _text(value: object) -> str:
    if is_checksum(value):
        return text_of_array(value)
    return text_of_function(value) if is_function_setting(value) else f"{value!r:.60}"


def _plain(value: Any, depth: int) -> Any:
    if type(value) in _ATOMS:
        return value
    if depth > _DEEPEST or isinstance(value, Node):
        raise _NotPlainError
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, np.generic) and type(value.item()) in _ATOMS:
        return value.item()
    if isinstance(value, list | tuple) and len(value) <= _MOST:
        return [_plain(item, depth + 1) for item in value]
    if isinstance(value, dict) and len(value) <= _MOST and all(type(key) in _ATOMS for key in value):
        return {key: _plain(item, depth + 1) for key, item in value.items()}
    if (array := array_setting(value)) is not None:
        return array
    if callable(value):
        return describe_function(value, lambda held: _plain_or_none(held, depth + 1))
    raise _NotPlainError


def _plain_or_none(value: object, depth: int) -> tuple[Any] | None:
    """Return the plain value in a tuple; None for what is none."""
    try:
        return (_plain(value, depth),)
    except _NotPlainError:
        return None
