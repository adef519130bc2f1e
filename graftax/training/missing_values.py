"""Missing values in columns of pandas and polars: refused by name, where they would become nan."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from graftax.core.errors import DataError


def refuse_missing(data: Any, name: str) -> None:
    """Raise if a value is missing: ``pd.NA`` in pandas' nullable dtypes, null in polars; nan is a number.

    Args:
        data: A table, or a column of one, of numbers or booleans.
        name: What it is called in messages.

    Raises:
        DataError: one is missing; the message names the column and the first row.
    """
    for label, column in _columns(data):
        row = _first_missing_row(column)
        if row is not None:
            of = "" if label is None else f" of the column {label!r}"
            fill, drop = ("fill_null", "drop_nulls") if hasattr(column, "null_count") else ("fillna", "dropna")
            nothing = {"b": "False", "f": "0.0"}.get(_kind(column), "0")
            filled = f"{name}.{fill}({nothing})"
            if label is not None and fill == "fillna":
                filled = f"{name}.fillna({{{label!r}: {nothing}}})"
            elif label is not None:
                filled = f"{name}.with_columns(polars.col({label!r}).fill_null({nothing}))"
            raise DataError(
                f"{name} is a {type(data).__name__} without a value in row {row}{of}, of dtype {column.dtype}",
                "models compute with numbers, and a missing one would become nan, and so would the loss",
                f"{filled}, or {drop}() of the table that inputs and targets are from; a cast to float32 makes nan",
            )


def _columns(data: Any) -> Iterable[tuple[Any, Any]]:
    """Return names and columns of a table of pandas or polars; of a column alone without a name."""
    if not hasattr(data, "columns"):
        return [(None, data)]
    if hasattr(data, "iloc"):  # pandas, where several columns may have one name
        return ((label, data.iloc[:, place]) for place, label in enumerate(data.columns))
    return zip(data.columns, data.get_columns(), strict=True) if hasattr(data, "get_columns") else ()


def _first_missing_row(column: Any) -> int | None:
    if hasattr(column, "null_count"):  # polars
        return int(column.is_null().arg_max()) if column.null_count() else None
    if isinstance(
        getattr(getattr(column, "dtype", None), "na_value", 0.0), float
    ):  # dtypes of NumPy, and those that say it with nan
        return None
    missing = column.isna().to_numpy()
    return int(missing.argmax()) if missing.any() else None


def _kind(column: Any) -> str:
    return str(getattr(column.dtype, "kind", str(column.dtype)[:1].lower()))
