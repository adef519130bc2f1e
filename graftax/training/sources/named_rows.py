"""Rows of tables by themselves, as pandas gives them: a Series whose labels are the names of the columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from graftax.core.errors import DataError
from graftax.training.arrays import as_arrays


class NamedRow:
    """One row of a table: numbers, each with the name of its column.

    Args:
        names: The names.
        values: The numbers, in the same order.
    """

    __slots__ = ("names", "values")

    def __init__(self, names: tuple[str, ...], values: np.ndarray[Any, Any]) -> None:
        self.names, self.values = names, values


def as_named_row(part: Any, name: str) -> NamedRow | None:
    """Return a Series whose labels are different texts as a row of a table; None for anything else.

    Labels that are numbers or dates say from which rows of a column a part of it is, and are no names.

    Args:
        part: A part of a sample.
        name: What it is called in messages.
    """
    labels = getattr(part, "index", None)
    if labels is None or callable(labels) or not hasattr(part, "to_numpy") or hasattr(part, "columns"):
        return None
    names = tuple(labels)
    if not names or not all(isinstance(label, str) for label in names) or len(set(names)) < len(names):
        return None
    return NamedRow(names, np.asarray(as_arrays(part, name, name.startswith("y"))))


class NamedRows:
    """Rows as a table, which has what is asked of one of pandas: its columns are put into the order of the training.

    Args:
        columns: The names.
        values: The numbers, a row for each sample.
    """

    def __init__(self, columns: Sequence[str], values: np.ndarray[Any, Any]) -> None:
        self.columns, self._values = list(columns), values
        self.dtypes = [values.dtype] * len(self.columns)
        self.shape = values.shape

    @classmethod
    def of(cls, leaves: list[Any], path: str, rows: list[int]) -> Self:
        """Return the rows of a batch as one table, in the order of the columns of the first.

        Raises:
            DataError: they have different names, or some have none.
        """
        first: Any = leaves[0] if isinstance(leaves[0], NamedRow) else None
        stacked: list[np.ndarray[Any, Any]] = []
        for leaf, row in zip(leaves, rows, strict=True):
            if first is None or not isinstance(leaf, NamedRow) or {*leaf.names} != {*first.names}:
                one, other = (
                    ", ".join(map(repr, found.names)) if isinstance(found, NamedRow) else "no names"
                    for found in (leaves[0], leaf)
                )
                raise DataError(
                    f"{path} is a Series with {one:.100} in sample {rows[0]}, and with {other:.100} in sample {row}",
                    "the rows of a batch become one table, whose columns have one name each",
                    "the same columns in each sample: row[['a', 'b']]; row.to_numpy() for numbers without names",
                )
            places = [leaf.names.index(name) for name in first.names] if leaf.names != first.names else None
            stacked.append(leaf.values if places is None else leaf.values[places])
        return cls(first.names, np.stack(stacked))

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, columns: str | list[str]) -> Any:
        if isinstance(columns, str):
            return self._values[:, self.columns.index(columns)]
        return NamedRows(columns, self._values[:, [self.columns.index(name) for name in columns]])

    def to_numpy(self) -> np.ndarray[Any, Any]:
        """Return the numbers."""
        return self._values
