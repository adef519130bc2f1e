"""Data with named columns: tables, and rows or batches that are dicts; some names are inputs, others targets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from graftax.core.errors import ArgumentTypeError, DataError
from graftax.core.known_names import closest
from graftax.layers.column_names import take_columns
from graftax.training.sources.wrapper import Wrapper

Names = str | Sequence[str]


def with_columns(x: Any, y: Names) -> tuple[Any, Any]:
    """Return inputs and targets for ``fit(x, y="label")``: the column of that name, or those, and all others.

    Raises:
        DataError: there are no column names, or not these; or they are all that there are.
    """
    if hasattr(x, "columns") and hasattr(x, "drop"):  # a table of pandas, polars or a similar library
        labels = list(x.columns)
        left = set(_remaining_columns(y, labels, f"the {type(x).__name__}"))
        inputs = take_columns(x, [place for place, label in enumerate(labels) if label in left])
        return inputs, x[y if isinstance(y, str) else list(y)]
    if isinstance(x, Mapping):
        others = _remaining_columns(y, list(x), "x")
        return _unwrap_single({name: x[name] for name in others}), _pick_columns(x, y)
    if is_table_of_rows(x):
        _remaining_columns(y, list(x.column_names), f"the {type(x).__name__}")
        return IndexedColumns(x, None, y, None), None
    if isinstance(x, Iterable) and not hasattr(x, "shape"):
        return columns_of(x, None, y, None), None
    raise DataError(
        f"y={y!r} for x of type {type(x).__name__}", "it has no names for its columns", "y=targets, an array"
    )


def is_table_of_rows(x: object) -> bool:
    """Return whether it is a data set of Hugging Face with an index, not a streaming one."""
    return all(hasattr(x, name) for name in ("column_names", "with_format", "__len__"))


def with_all_columns(x: Any, y: Any, validation_data: Any) -> tuple[Any, Any, Any]:
    """Return inputs, targets and validation data; column names as ``y`` are used for both data sets."""
    if not names_columns(x, y):
        return x, y, validation_data
    x, targets = with_columns(x, y)
    if validation_data is None or isinstance(validation_data, tuple):
        return x, targets, validation_data
    against = with_columns(validation_data, y)
    return x, targets, against[0] if against[1] is None else against


def names_columns(x: object, y: object) -> bool:
    """Return whether targets are the name of a column, or names of columns of data that have some.

    Example:
        >>> names_columns({"a": [1.0], "b": [2.0]}, ["b"]), names_columns([[1.0]], ["cat"])
        (True, False)
    """
    if isinstance(y, str):
        return True
    if not isinstance(y, list | tuple) or not y or not all(isinstance(name, str) for name in y):
        return False
    names = x if isinstance(x, Mapping) else getattr(x, "columns", None)
    if names is None:
        return is_table_of_rows(x) or (isinstance(x, Iterable) and not hasattr(x, "shape") and not _is_listed_data(x))
    return len(y) <= len(list(names))  # else it is text in place of targets, a label for each row


def _is_listed_data(x: object) -> bool:
    """Return whether it is a list of arrays or numbers, rather than of batches that are dicts."""
    return isinstance(x, list | tuple) and not all(isinstance(one, Mapping) for one in x)


def _remaining_columns(chosen: Names, names: list[Any], where: str) -> list[Any]:
    """Return the names that are not chosen.

    Raises:
        DataError: a chosen one does not exist, comes twice, or none is left.
    """
    wanted = as_list(chosen)
    for name in wanted:
        require_name(name, names, where)
        if names.count(name) > 1:
            raise DataError(
                f"y={chosen!r:.80}, of {where} with the columns {', '.join(map(repr, names)):.100}",
                f"the column {name!r} is there twice, and the name does not say which is meant",
                "y=x.iloc[:, place], and x without it; or columns with different names",
            )
    others = [name for name in names if name not in wanted]
    if not others or len(set(wanted)) < len(wanted):
        raise DataError(
            f"y={chosen!r:.80}, of {where} with the columns {', '.join(map(repr, names)):.100}",
            "a target comes twice" if others else "no column is left for the inputs",
            'y="price", or y=["price", "area"]: columns beside those of the inputs',
        )
    return others


def require_name(name: str, names: Sequence[str], where: str) -> None:
    """Raise if there is no such column.

    Raises:
        DataError: there is none; the message lists the columns.
    """
    if name not in names:
        near = closest(name, [one for one in names if isinstance(one, str)])
        raise DataError(
            f"the column {name!r}", f"{where} has {', '.join(map(repr, names))}", repr(near) if near else "one of these"
        )


def _unwrap_single(parts: Mapping[str, Any]) -> Any:
    return next(iter(parts.values())) if len(parts) == 1 else dict(parts)


def columns_of(batches: Any, x: Names | None, y: Names | None, sample_weight: str | None) -> Iterable[tuple[Any, ...]]:
    """Return batches with named parts; for an iterator, an iterator."""
    return (ColumnsOnce if isinstance(batches, Iterator) else Columns)(batches, x, y, sample_weight)


_OF_LOADERS = ("get_state", "set_state", "state_dict", "load_state_dict", "row_order")
"""What a loader says and restores of its position and order. Columns come batch by batch, so that they say the same."""


class Columns(Wrapper):
    """Batches that are dicts, as ``(x, y)`` or ``(x, y, sample_weight)``; see `graftax.data.columns`."""

    def __init__(self, batches: Any, x: Names | None, y: Names | None, sample_weight: str | None) -> None:
        super().__init__(batches)
        self._x, self._y, self._sample_weight = x, y, sample_weight

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return ColumnsOnce(iter(self._batches), self._x, self._y, self._sample_weight)

    def __getattr__(self, name: str) -> Any:
        if name in _OF_LOADERS:
            return getattr(self._batches, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    def parts(self, batch: Any) -> tuple[Any, ...]:
        """Return the parts of a batch or a sample.

        Raises:
            DataError: it is not a dict, or a column is missing.
        """
        if not isinstance(batch, Mapping):
            raise DataError(
                f"a batch of type {type(batch).__name__}, of which columns by name are asked",
                "only dicts have names",
                'batches such as {"image": ..., "label": ...}',
            )
        asked = [*as_list(self._x), *as_list(self._y), *as_list(self._sample_weight)]
        for name in asked:
            require_name(name, list(batch), "the batch")
        others = [name for name in batch if name not in asked]
        if self._x is None and not others:
            raise DataError(
                f"y={self._y!r:.80}, of a batch with the columns {', '.join(map(repr, batch)):.100}",
                "no column is left for the inputs",
                'y="price", or y=["price", "area"]: columns beside those of the inputs',
            )
        x = _unwrap_single({name: batch[name] for name in others}) if self._x is None else _pick_columns(batch, self._x)
        y = None if self._y is None else _pick_columns(batch, self._y)
        if self._sample_weight is not None:
            return x, y, batch[self._sample_weight]
        return (x,) if y is None else (x, y)


class ColumnsOnce(Columns, Iterator[tuple[Any, ...]]):
    """`Columns` of an iterator, which continues from pass to pass."""

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return self

    def __next__(self) -> tuple[Any, ...]:
        return self.parts(next(self._batches))


class IndexedColumns(Columns):
    """Rows that are dicts, by index."""

    @property
    def column_names(self) -> list[str]:
        """Return the names; their presence marks a data set of rows."""
        return list(self._batches.column_names)

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        return self.parts(self._batches[index])

    def __getitems__(self, rows: list[int]) -> list[tuple[Any, ...]]:
        columns = self._batches[rows]
        return [self.parts({name: column[i] for name, column in columns.items()}) for i in range(len(rows))]


def as_list(names: object) -> list[str]:
    """Return a name, or several, as a list.

    Raises:
        ArgumentTypeError: it is neither a name nor a list of names.
    """
    if names is None or isinstance(names, str):
        return [] if names is None else [names]
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise ArgumentTypeError(f"columns got {names!r:.60}", "it takes names", 'x=["image", "mask"], y="label"')
    return list(names)


def _pick_columns(batch: Mapping[str, Any], names: Names) -> Any:
    return batch[names] if isinstance(names, str) else {name: batch[name] for name in names}
