"""Tables of other libraries whose rows are not in memory as columns of numbers: the line that reads them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from graftax.core.errors import DataError

_LINES = {
    ("polars", "LazyFrame"): "{}.collect()",
    ("dask", "DataFrame"): "{}.compute()",
    ("dask", "Series"): "{}.compute()",
    ("dask_expr", "DataFrame"): "{}.compute()",
    ("dask_expr", "Series"): "{}.compute()",
    ("pyspark", "DataFrame"): "{}.toPandas()",
    ("duckdb", "DuckDBPyRelation"): "{}.df()",
    ("_duckdb", "DuckDBPyRelation"): "{}.df()",
    ("pyarrow", "Table"): "{}.to_pandas()",
    ("pyarrow", "RecordBatch"): "{}.to_pandas()",
    ("pyarrow", "Dataset"): "{}.to_table().to_pandas()",
    ("ibis", "Table"): "{}.execute()",
    ("narwhals", "LazyFrame"): "{}.collect().to_native()",
}
"""The line that makes a table in memory of one of these classes, of that name in that library."""


def refuse_unread(x: object, label: str) -> None:
    """Raise for a table that must be read, or converted, first; also for one in a dict or a list.

    Nothing is imported for this, and nothing is asked of the table: some read all their rows to answer.

    Args:
        x: The data.
        label: What they are called in messages.

    Raises:
        DataError: there is such a table; the message has the line that reads it.

    Example:
        >>> refuse_unread([1.0, 2.0], "x")
    """
    if x is None or type(x) is np.ndarray:  # at each step
        return
    if isinstance(x, Mapping):
        for name, part in x.items():
            refuse_unread(part, f"{label}[{name!r}]")
    elif isinstance(x, list | tuple):
        for place, part in enumerate(x[:64]):
            if not isinstance(part, int | float):
                refuse_unread(part, f"{label}[{place}]")
    elif (line := _line_for(type(x))) is not None:
        library = type(x).__module__.partition(".")[0].lstrip("_")
        raise DataError(
            f"{label} is a {type(x).__name__} of {library}",
            "models take tables of pandas and polars that are in memory",
            line.format(label),
        )


def is_unread(x: object) -> bool:
    """Tell whether it is such a table."""
    return _line_for(type(x)) is not None


def _line_for(kind: type) -> str | None:
    for base in kind.__mro__:
        root, _, inner = base.__module__.partition(".")
        if (root, inner.partition(".")[0]) != ("pyspark", "pandas") and (root, base.__name__) in _LINES:
            return _LINES[root, base.__name__]
    return None
