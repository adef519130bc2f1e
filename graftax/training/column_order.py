"""The columns that a model was trained on: later tables are put into their order, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from graftax.core.errors import DataError
from graftax.layers.inputs import is_table
from graftax.training.sources.named_columns import with_all_columns

Names: TypeAlias = tuple[Any, ...] | None
"""The names of the columns of a table, in order; None for what has none, or others than texts."""
Known: TypeAlias = Names | dict[Any, Names] | list[Names]


def known_columns(x: object) -> Known:
    """Return the names of the columns of a table, or of each table in a dict or a list; None where there are none.

    Example:
        >>> known_columns([[1.0, 2.0]]) is None
        True
    """
    if isinstance(x, Mapping):
        each = {name: _names(part) for name, part in x.items()}
        return each if any(each.values()) else None
    if isinstance(x, list | tuple) and x and len(x) <= 64 and any(map(is_table, x)):
        return [_names(part) for part in x]
    return _names(x)


def in_known_order(x: object, known: Known, what: str) -> Any:
    """Return data with the columns of each table in the order of those that the model was trained on.

    Args:
        x: The data.
        known: What `known_columns` gave for the data of the training.
        what: How the data are called in messages.

    Raises:
        DataError: a table has other columns.
    """
    if isinstance(known, dict):
        if not isinstance(x, Mapping) or set(x) != set(known):
            return x
        return {name: _ordered(part, known[name], f"{what}[{name!r}]") for name, part in x.items()}
    if isinstance(known, list):
        if not isinstance(x, list | tuple) or len(x) != len(known):
            return x
        parts = [_ordered(part, one, f"{what}[{i}]") for i, (part, one) in enumerate(zip(x, known, strict=True))]
        return type(x)(*parts) if hasattr(x, "_fields") else type(x)(parts)
    return _ordered(x, known, what)


def ordered_columns(
    known: Known, x: object, y: object = None, validation_data: object = None
) -> tuple[Any, Any, Any, Known]:
    """Return inputs, targets and validation data with columns in order, and the names that are known from now on.

    Args:
        known: What is known so far.
        x: The inputs.
        y: The targets, or the name of their column. Defaults to None.
        validation_data: A tuple, a table with that column, or batches. Defaults to None.
    """
    given, y, against = with_all_columns(x, y, validation_data)
    given = in_known_order(given, known, "x")
    found = known_columns(given) if known is None else known
    if isinstance(against, tuple) and against:
        return given, y, (in_known_order(against[0], found, "validation_data[0]"), *against[1:]), found
    return given, y, in_known_order(against, found, "validation_data"), found


def _ordered(x: object, known: Names, what: str) -> Any:
    names = _names(x)
    if known is None or names is None or names == known:
        return x
    missing = [name for name in known if name not in names]
    added = [name for name in names if name not in known]
    if missing or added or len(set(names)) < len(names):
        told = [f"without {', '.join(map(repr, missing))}"] if missing else []
        told += [f"with {', '.join(map(repr, added))}"] if added else []
        raise DataError(
            f"{what} is a {type(x).__name__} {' and '.join(told) or 'with columns of equal names'}",
            f"the model was trained on the columns {', '.join(map(repr, known))}",
            f"{what}[{list(known)!r}]" if not missing else f"{what}.to_numpy(), if its columns are these in this order",
        )
    table: Any = x
    return table[list(known)]


def _names(x: object) -> Names:
    if not is_table(x):
        return None
    names: tuple[Any, ...] = tuple(getattr(x, "columns"))  # noqa: B009 - of an object
    return names if all(isinstance(name, str) for name in names) else None
