"""The state of a callback without `get_state`: its plain attributes that have changed during training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from graftax.core import user_line

_OF_THE_RUN = frozenset({"params", "model", "_model", "validation_data"})


class PlainAttributes:
    """The attributes of a callback that differ from their values at the start of training, as its state.

    So settings are those of the present run, and counters continue.

    Args:
        callback: A callback of another library, after its ``on_train_begin``.

    Example:
        >>> class Counts:
        ...     def __init__(self):
        ...         self.patience, self.seen = 3, 0
        >>> before, after = Counts(), Counts()
        >>> attributes = PlainAttributes(before)
        >>> before.seen = 5
        >>> PlainAttributes(after).set_state(attributes.get_state())
        >>> after.seen
        5
    """

    def __init__(self, callback: Any) -> None:
        self.callback = callback
        self._begun = dict(_attributes(callback))
        self._values = {name: _plain(value) for name, value in self._begun.items() if _is_plain(value)}

    def get_state(self) -> dict[str, Any] | None:
        """Return the changed values by name, and names and types of those that cannot be saved; None for no changes."""
        kept: dict[str, Any] = {}
        lost: dict[str, str] = {}
        for name, value in _attributes(self.callback):
            if _is_plain(value):
                now = _plain(value)
                if name not in self._values or not _same(now, self._values[name]):
                    kept[name] = now
            elif self._begun.get(name) is not value and not callable(value):
                lost[name] = type(value).__name__
        return {"attributes": kept, "lost": lost} if kept or lost else None

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Assign the saved values, and warn about those that could not be saved."""
        vars(self.callback).update(state["attributes"])
        if state["lost"]:
            name = type(self.callback).__name__
            shown = ", ".join(f"{name} ({kind})" for name, kind in state["lost"].items())
            user_line.warn(
                f"the callback {name} goes on without its attributes {shown}: only numbers, texts, arrays, lists and "
                f"dicts of these are saved for a callback that does not say what it remembers. Define get_state(self) "
                f"and set_state(self, state) in {name}."
            )


def _attributes(callback: Any) -> list[tuple[str, Any]]:
    return [(name, value) for name, value in getattr(callback, "__dict__", {}).items() if name not in _OF_THE_RUN]


def _is_plain(value: object) -> bool:
    if value is None or isinstance(value, bool | int | float | str | np.number | np.bool_):
        return True
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "biuf"
    if isinstance(value, dict):
        return all(isinstance(key, str) for key in value) and all(map(_is_plain, value.values()))
    return type(value) is list and all(map(_is_plain, value))


def _plain(value: Any) -> Any:
    """Return a copy, with NumPy scalars as Python numbers."""
    if isinstance(value, np.number | np.bool_):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, list) else value


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return type(one) is type(other) and one.dtype == other.dtype and np.array_equal(one, other)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return type(one) is type(other) and (one == other or (one != one and other != other))
