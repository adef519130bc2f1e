"""Tables in place of arrays: those of one call belong together by the names of their columns and the labels of rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graftax.objectives.row_labels import require_rows_in_one_order


def in_one_order(**parts: object) -> tuple[Any, ...]:
    """Return the parts of a call with the columns of tables in the order of the first table of the same names.

    Columns with other names, and other row labels, say nothing about the order: these are taken as they come.

    Args:
        parts: Tables, columns, arrays, or dicts and lists of these, by what they are called in messages.

    Raises:
        DataError: two have the same row labels in different orders.

    Example:
        >>> in_one_order(y_pred=[0.5, 1.5], y_true=[1, 2])
        ([0.5, 1.5], [1, 2])
    """
    found = tuple(parts.values())
    if sum(_may_be_labelled[type(part)] for part in found) < 2:  # arrays, as nearly always
        return found
    require_rows_in_one_order(**parts)
    for model in reversed(found):
        found = tuple(_like(model, part) for part in found)
    return found


def _like(model: object, part: object) -> object:
    """Return a part with the columns of its tables in the order of a model, where both have the same ones."""
    if isinstance(model, Mapping) and isinstance(part, dict):
        return {name: _like(model.get(name), one) for name, one in part.items()}
    names, own = _names_of(model), _names_of(part)
    if names == own or len(names) != len(own) or set(names) != set(own) or len(set(names)) < len(names):
        return part
    table: Any = part
    return table[names]


def _names_of(part: object) -> list[Any]:
    """Return the names of the columns of a table; none for anything else."""
    return list(getattr(part, "columns", ())) if _may_be_labelled[type(part)] and hasattr(part, "to_numpy") else []


class _MayBeLabelled(dict[type[Any], bool]):
    """For each class whether its objects may be tables or columns, or hold some."""

    def __missing__(self, kind: type[Any]) -> bool:
        tabular = hasattr(kind, "to_numpy") and (hasattr(kind, "iloc") or hasattr(kind, "columns"))
        self[kind] = tabular or issubclass(kind, Mapping | list | tuple)
        return self[kind]


_may_be_labelled = _MayBeLabelled()
