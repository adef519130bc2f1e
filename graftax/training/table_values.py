"""The values of tables of pandas and polars as one array."""

from __future__ import annotations

from numbers import Number
from typing import Any

import numpy as np

from graftax.core.errors import DataError
from graftax.training.missing_values import refuse_missing
from graftax.training.narrowing import narrow, narrow_dtype
from graftax.training.not_numbers import numbers_instead


def array_of_table(table: Any, name: str, keeps_integers: bool) -> np.ndarray[Any, Any]:
    """Return the numbers of a table as one array, of floats, or of integers if they are to stay so and all are.

    Args:
        table: The table.
        name: What it is called in messages.
        keeps_integers: Whether a table of integers alone stays one: these may be labels.

    Raises:
        DataError: some columns are not numeric, or lack a value, or a number is too large; the message names it.
    """
    dtypes = table.dtypes if isinstance(table.dtypes, list) else list(table.dtypes)
    kinds = [kind_of(dtype) for dtype in dtypes]
    wrong = [str(column) for column, kind in zip(table.columns, kinds, strict=True) if not kind]
    if wrong:
        raise DataError(
            f"{name} is a {type(table).__name__} whose columns {', '.join(map(repr, wrong))} hold no numbers",
            "models compute with numbers",
            _numbers_in_place(table, wrong, name),
        )
    refuse_missing(table, name)
    found = np.asarray(table.to_numpy())
    if keeps_integers and set(kinds) == {"i"}:
        return narrow(found.astype("int64", order="C"), name)  # tables keep columns together, batches take rows
    if found.dtype.kind == "O":  # columns of several dtypes
        found = found.astype("float64")
    dtype = narrow_dtype(np.dtype("float64"))
    return np.asarray(narrow(found, name) if found.dtype.kind == "f" else found, dtype, order="C")


def _numbers_in_place(table: Any, wrong: list[str], name: str) -> str:
    """Return the line that makes numbers of the columns that are none."""
    column, part = table[wrong[0]], f"{name}[{wrong[0]!r}]"
    dtype = column.dtype
    if not hasattr(dtype, "kind"):
        if str(dtype).startswith(("Date", "Time", "Duration")):
            return f"{name}.with_columns(polars.col({wrong[0]!r}).to_physical() / scale)"
        return f"{name}.drop({wrong!r}), or numbers in their place: {name}.to_dummies({wrong!r})"
    if str(dtype) == "category" and all(isinstance(one, Number) for one in column):
        return (
            f'{name}.astype({{{wrong[0]!r}: "float32"}}) for the numbers that its categories are; '
            f"{part}.cat.codes for their places among the categories"
        )
    if dtype.kind == "O" and all(isinstance(one, Number) for one in column):
        return f'{name}.astype({{{wrong[0]!r}: "float32"}}): its numbers are objects of Python'
    dates = numbers_instead(dtype.kind, part)
    return dates or f"{name}.drop(columns={wrong!r}), or numbers in their place: pandas.get_dummies({name}), .cat.codes"


def kind_of(dtype: object) -> str:
    """Return "b", "i" or "f" for the dtype of a column: truth values, integers, fractions; empty for others.

    Example:
        >>> import numpy as np
        >>> kind_of(np.dtype("uint8")), kind_of(np.dtype("float16")), kind_of(np.dtype("datetime64[s]"))
        ('i', 'f', '')
    """
    kind: object = getattr(dtype, "kind", None)  # dtypes of polars have no kind
    if kind is not None:
        return {"b": "b", "i": "i", "u": "i", "f": "f"}.get(str(kind), "")
    return {"Int": "i", "UInt": "i", "Float": "f", "Boolean": "b"}.get(str(dtype).rstrip("0123456789"), "")
