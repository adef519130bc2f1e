"""The names of the columns of a table: texts, numbers, tuples or others; and those that are only places, 0, 1, …."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any, TypeAlias

from graftax.layers.inputs import is_table

Name: TypeAlias = "str | int | float | tuple[Name, ...]"
"""The name of a column, as files can have it: tuples are those of a ``MultiIndex``."""
Names: TypeAlias = tuple[Name, ...] | None
"""The names of the columns of a table, in order; None for what is no table."""


def names_of(x: object) -> Names:
    """Return the names of the columns of a table; None for anything else.

    Example:
        >>> names_of([[1.0, 2.0]]) is None
        True
    """
    if not is_table(x):
        return None
    labels: tuple[Any, ...] = tuple(getattr(x, "columns"))  # noqa: B009 - of an object
    return labels if all(type(label) is str for label in labels) else tuple(map(_name, labels))


def _name(label: object) -> Name:
    """Return the name for the label of a column, the same in each process; for a date, what Python shows of it."""
    if isinstance(label, str):
        return str.__str__(label)
    if isinstance(label, bool):
        return label
    if isinstance(label, Integral):
        return int(label)
    if isinstance(label, Real) and math.isfinite(label):
        return float(label)
    return tuple(map(_name, label)) if isinstance(label, tuple) else f"{label!r}"


def go_by_place(names: Sequence[Name], known: Sequence[Name]) -> bool:
    """Tell whether the columns of a table correspond to known ones by their places, since one side has no names.

    Columns that are numbered 0, 1, … in order are those of a table that was made without names. They are compared with
    other integers all the same, which chose some of such a table: ``x[[1, 0]]``.

    Example:
        >>> go_by_place((0, 1), ("a", "b")), go_by_place((0, 1), (0, 1, 2)), go_by_place((0, 1), (1, 0))
        (True, True, False)
    """
    here, there = is_numbered(names), is_numbered(known)
    return (here and there) or ((here or there) and not (_has_integers(names) and _has_integers(known)))


def is_numbered(names: Sequence[Name]) -> bool:
    """Tell whether columns are numbered 0, 1, … in order, as where nobody has named them."""
    return bool(names) and all(type(name) is int and name == place for place, name in enumerate(names))


def _has_integers(names: Iterable[Name]) -> bool:
    return any(type(name) is int for name in names)


def take_columns(table: Any, places: list[int]) -> Any:
    """Return a table with the columns at some places, in that order."""
    if hasattr(table, "iloc"):  # pandas, where several columns may have one name
        return table.iloc[:, places]
    labels = list(table.columns)
    return table[[labels[place] for place in places]]


def write_columns(label: str, table: Any, columns: Sequence[Name]) -> str:
    """Return the line that takes columns of a table, in that order.

    Args:
        label: How the table is called.
        table: The table, whose columns have different names.
        columns: The names of those to take.
    """
    labels = dict(zip(names_of(table) or (), table.columns, strict=False))
    if all(name == labels[name] for name in columns):
        return f"{label}[{list(columns)!r}]"
    places = list(labels)
    return f"{label}.iloc[:, {[places.index(name) for name in columns]}]"  # a date is no word of Python


# --- in files ---------------------------------------------------------------------------------------------------------


def as_list(names: Names) -> list[Any] | None:
    """Return names in the form of files, where a name that is a tuple is a list."""
    return None if names is None else [_form(name) for name in names]


def _form(name: Name) -> Any:
    return [_form(part) for part in name] if isinstance(name, tuple) else name


def read_names(names: object) -> Names:
    """Return the names that a file has; None for what are none.

    Example:
        >>> read_names(["a", 2019, ["b", 0.5]]), read_names(["a", {}])
        (('a', 2019, ('b', 0.5)), None)
    """
    if not isinstance(names, list | tuple):
        return None
    found: list[Name] = []
    for name in names:
        one = read_names(name) if isinstance(name, list | tuple) else name
        if not isinstance(one, str | int | float | tuple):
            return None
        found.append(one)
    return tuple(found)
