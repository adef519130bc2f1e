"""Saved settings as the values that attributes of a program have: tuples, enums and arrays again."""

from __future__ import annotations

from enum import Enum
from typing import Any, Protocol, runtime_checkable

import numpy as np

from graftax.backend import registry
from graftax.reparam.array_settings import is_checksum
from graftax.reparam.function_settings import is_function_setting


@runtime_checkable
class HasDtype(Protocol):
    """An array, or a scalar of NumPy."""

    @property
    def dtype(self) -> Any:
        """Return its dtype."""
        ...


def live_setting(saved: object, live: object) -> tuple[Any] | None:
    """Return a saved setting in the form of the present value, in a tuple; None if that cannot be known.

    A file has the names of functions and the checksums of larger arrays, from which nothing can be made. It does not
    say whether a list was a tuple or an array; the present value does.

    Args:
        saved: The saved setting.
        live: The present value of the attribute.

    Example:
        >>> live_setting([1, 2], (3,)), live_setting([1, 2], None), live_setting(0.5, 1)
        (((1, 2),), None, (0.5,))
    """
    if isinstance(live, Enum):
        members = {f"{type(live).__name__}.{name}": member for name, member in type(live).__members__.items()}
        return (members[saved],) if isinstance(saved, str) and saved in members else None
    if isinstance(live, HasDtype):
        return _array(saved, live)
    if isinstance(saved, list):
        return _sequence(saved, live)
    if isinstance(saved, dict):
        return None if is_function_setting(saved) or is_checksum(saved) else _mapping(saved, live)
    return (saved,)


def _array(saved: object, live: HasDtype) -> tuple[Any] | None:
    if saved is None or isinstance(saved, dict | str | bytes):
        return None
    if isinstance(live, np.generic):
        return None if isinstance(saved, list) else (live.dtype.type(saved),)
    values = np.array(saved, live.dtype)
    return (values,) if isinstance(live, np.ndarray) else (registry.current().arrays.asarray(values, str(live.dtype)),)


def _sequence(saved: list[object], live: object) -> tuple[Any] | None:
    if not isinstance(live, list | tuple) or type(live) not in (list, tuple):
        return None
    items = [live_setting(item, live[i] if i < len(live) else None) for i, item in enumerate(saved)]
    return None if None in items else (type(live)([item[0] for item in items if item is not None]),)


def _mapping(saved: dict[object, object], live: object) -> tuple[Any] | None:
    if not isinstance(live, dict) or type(live) is not dict:
        return None
    items = {key: live_setting(item, live.get(key)) for key, item in saved.items()}
    return None if None in items.values() else ({key: item[0] for key, item in items.items() if item is not None},)
