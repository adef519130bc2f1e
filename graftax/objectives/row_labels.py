"""Rows with labels, as those of pandas: tables with the same rows in different orders are refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol, TypeGuard

import numpy as np

from graftax.core.errors import DataError


def require_rows_in_one_order(**parts: object) -> None:
    """Raise if two tables or columns have the same row labels in different orders.

    Labels are compared where they say which row is which: where they are unique, and the same on both sides. Other
    labels, such as those that ``reset_index`` leaves of a part of a table, say nothing about the order.

    Args:
        parts: The data by what they are called in messages: arrays, tables, columns, or dicts and lists of these.

    Raises:
        DataError: two have the same labels in different orders; the message names both.

    Example:
        >>> require_rows_in_one_order(x=[1, 2], y=[3, 4])
    """
    may_have = {name: part for name, part in parts.items() if part is not None and type(part) is not np.ndarray}
    labelled = [found for name, part in may_have.items() for found in _iterate_labelled(name, part)]
    for name, part in labelled[1:]:
        first, begin = labelled[0]
        row = _first_moved_row(begin.index, part.index)
        if row is not None:
            raise DataError(
                f"row {row} of {first} ({type(begin).__name__}) has the label {_format_label(begin, row)}, and row "
                f"{row} of {name} ({type(part).__name__}) has {_format_label(part, row)}: the same labels in different "
                "orders",
                f"row i of {first} and row i of {name} belong to the same sample, whatever their labels",
                f"{name}.loc[{first}.index]; or {name}.to_numpy(), if its rows are in the right order as they are",
            )


class _Labels(Protocol):
    """The labels of rows: what graftax asks of an index of pandas."""

    nlevels: int
    dtype: Any

    def __len__(self) -> int: ...
    def __getitem__(self, row: int) -> Any: ...
    def equals(self, other: object) -> bool: ...
    def tolist(self) -> list[Any]: ...
    def __ne__(self, other: object) -> Any: ...


class _Labelled(Protocol):
    index: _Labels


def _iterate_labelled(name: str, part: object) -> Iterator[tuple[str, _Labelled]]:
    if isinstance(part, Mapping):
        for key, one in part.items():
            yield from _iterate_labelled(f"{name}[{key!r}]", one)
    elif isinstance(part, list | tuple):
        for i, one in enumerate(part[:64]):
            if not isinstance(one, int | float):
                yield from _iterate_labelled(f"{name}[{i}]", one)
    elif _has_labels(part):
        yield name, part


def _has_labels(part: object) -> TypeGuard[_Labelled]:
    index = getattr(part, "index", None) if hasattr(part, "iloc") else None
    return hasattr(index, "nlevels") and hasattr(index, "equals")


def _format_label(part: _Labelled, row: int) -> str:
    label = part.index[row]
    return f"{label.item() if hasattr(label, 'item') else label!r}"[:40]


def _first_moved_row(one: _Labels, other: _Labels) -> int | None:
    """Return the first row where the same labels are in different orders; None where that cannot be said."""
    if one is other or len(one) != len(other) or one.nlevels != other.nlevels or _kind(one) != _kind(other):
        return None
    if one.equals(other):
        return None
    apart = _apart_as_numbers if one.nlevels == 1 and _kind(one) in _NUMBERS else _apart_as_labels
    return int((one != other).argmax()) if apart(one, other) else None


_NUMBERS = "biufmM"


def _kind(index: _Labels) -> str:
    return str(getattr(index.dtype, "kind", "O"))


def _apart_as_numbers(one: _Labels, other: _Labels) -> bool:
    """Return whether they are the same numbers or times, each once: sorted, since that takes less than looking up."""
    here, there = np.asarray(one), np.asarray(other)
    if here.min() != there.min() or here.max() != there.max():
        return False
    here, there = np.sort(here), np.sort(there)
    return bool((here == there).all() and (here[1:] != here[:-1]).all())


def _apart_as_labels(one: _Labels, other: _Labels) -> bool:
    there = set(other.tolist())
    return len(there) == len(other) and one[0] in there and set(one.tolist()) == there
