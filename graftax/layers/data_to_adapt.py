"""The data sets that layers adapt to: batches of numbers, which are finite, and the columns of tables among them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from graftax.backend.host import check_plain
from graftax.core.errors import ArgumentError, ArgumentTypeError
from graftax.core.typedefs import unwrap
from graftax.layers.foreign_tables import refuse_unread
from graftax.layers.inputs import all_numbers, is_table
from graftax.layers.table_columns import Known, has_the_columns, in_known_order, known_columns
from graftax.ops.checks import subscript


class DataToAdapt:
    """The batches of a data set, for one pass: an array or a table is one, and an iterable has several.

    Args:
        data: The data set.
        known: The names of the columns of tables, if they are known: these are put into this order. Defaults to None:
            the first table says it. A first table with other columns says it anew.

    Raises:
        ArgumentTypeError: a batch is no array of numbers, or a masked one; the data are a tuple.
        ArgumentError: a number is nan or infinite; the message names its row and its column.
        DataError: a later table has other columns than the first.

    Example:
        >>> import numpy as np
        >>> [batch.shape for batch in DataToAdapt([np.ones((2, 3)), np.ones((1, 3))])]
        [(2, 3), (1, 3)]
    """

    def __init__(self, data: object, columns: Known = None) -> None:
        refuse_unread(data, "data")
        check_plain(data, "data", _unmask(data))
        several = not hasattr(data, "shape") and isinstance(data, Iterable) and not isinstance(data, str | bytes | dict)
        if isinstance(data, list | tuple) and all_numbers(data):
            several = False
        elif isinstance(data, tuple):
            raise ArgumentTypeError(
                f"adapt got a tuple of {len(data)} parts",
                "a tuple is (x, y), as for fit, and adapt takes no targets",
                "layer.adapt(x); a list for several batches: layer.adapt([first, second])",
            )
        self._several = several
        self._batches: Iterable[Any] = data if several and isinstance(data, Iterable) else (data,)
        self._before = columns
        self.columns: Known = None
        """The names of the columns of the first table, in the order of the batches; None where there are none."""

    def __iter__(self) -> Iterator[np.ndarray[Any, Any]]:
        for number, given in enumerate(self._batches):
            name = f"data[{number}]" if self._several else "data"
            refuse_unread(given, name)
            check_plain(given, name, _unmask(given))
            if self.columns is None:
                self.columns = self._before if has_the_columns(given, self._before) else known_columns(given)
            batch = in_known_order(given, self.columns, name, "the first table had") if is_table(given) else given
            array = _numbers_of(batch)
            if array.dtype.kind == "f" and not np.isfinite(array).all():
                raise _not_finite(batch, array, number if self._several else None)
            yield array if array.ndim else array[None]


def _numbers_of(batch: Any) -> np.ndarray[Any, Any]:
    array = None
    if not isinstance(batch, list | tuple) or all_numbers(batch):
        try:
            array = _to_numpy(batch)
        except (TypeError, ValueError):
            array = None
    if array is None or array.dtype.kind not in "biuf" + "V" * (array.dtype.name == "bfloat16"):
        raise ArgumentTypeError(
            f"adapt got a {type(batch).__name__}" + (f" of dtype {array.dtype}" if array is not None else ""),
            "it takes an array of numbers, or an iterable of such, without targets",
            "layer.adapt(x for x, y in batches)",
        )
    return array.astype("float32") if array.dtype.kind == "V" else array


def _unmask(data: object) -> str:
    """Return the line to write in place of a masked array."""
    if isinstance(data, np.ndarray) and data.ndim == 1:
        return "data.compressed(), the numbers that are not masked"
    return "data[~np.ma.getmaskarray(data).any(-1)].data, the rows without a masked number; or data.filled(0.0)"


def _to_numpy(batch: object) -> np.ndarray[Any, Any]:
    array = np.asarray(unwrap(batch))
    if array.dtype.kind == "O" and hasattr(batch, "iloc") and _is_numeric(batch):
        table: Any = batch
        return np.asarray(table.to_numpy("float64", na_value=np.nan))  # columns of several dtypes, or missing values
    return array


def _is_numeric(data: object) -> bool:
    dtypes: Iterable[Any] = getattr(data, "dtypes", ()) if hasattr(data, "columns") else [getattr(data, "dtype", None)]
    return all(getattr(dtype, "kind", "O") in "biuf" for dtype in dtypes)


def _not_finite(batch: Any, array: np.ndarray[Any, Any], number: int | None) -> ArgumentError:
    place = tuple(map(int, np.argwhere(~np.isfinite(array))[0]))
    if is_table(batch):
        where = f"in row {place[0]} of the column {list(batch.columns)[place[1]]!r}"
    elif array.ndim == 2:
        where = f"in row {place[0]}, column {place[1]}"
    else:
        where = f"at {subscript('data', place)}" if place else "as its only number"
    of = "" if number is None else f" of batch {number}"
    value = array[place]
    what = "nan" if np.isnan(value) else "infinity"
    return ArgumentError(
        f"adapt got {what} {where}{of}",
        "what the layer takes from the data would be nan, and its outputs with it",
        _remedy(batch, bool(np.isnan(value))),
    )


def _remedy(batch: object, is_missing: bool) -> str:
    if not is_missing:
        return "layer.adapt(np.clip(data, low, high)), with bounds that you choose"
    fill, drop = "np.nan_to_num(data, nan=0.0)", "data[~np.isnan(data).any(-1)]"
    if hasattr(batch, "null_count"):  # polars
        fill, drop = "data.fill_nan(0.0).fill_null(0.0)", "data.drop_nans().drop_nulls()"
    elif hasattr(batch, "iloc"):
        fill, drop = "data.fillna(data.mean())", "data.dropna()"
    return f"layer.adapt({fill}), or layer.adapt({drop}); and the same for what the model gets"
