"""Data that are no numbers: refused, with the line that makes numbers of them."""

from __future__ import annotations

from numbers import Number
from typing import Any

import numpy as np

from graftax.core.errors import DataError

_WORDS = (
    "map texts and objects to numbers first: layer(texts) of a TextVectorization or StringLookup, before the data go "
    "to the model, and not in it"
)


def non_numeric_error(received: str, instead: str = "") -> DataError:
    """Return the error for data of text or objects."""
    return DataError(received, "models compute with numbers", instead or _WORDS)


def error_of_array(leaf: object, array: np.ndarray[Any, Any], name: str) -> DataError:
    """Return the error for an array that holds no numbers.

    Args:
        leaf: What was given.
        array: What NumPy makes of it.
        name: What it is called in messages.
    """
    kind = type(leaf).__name__
    of_rows = array.ndim == 1 and all(isinstance(row, list | tuple | np.ndarray) for row in array)
    if of_rows or hasattr(leaf, "row_lengths"):
        what = "an array of objects" if leaf is array else f"a {kind}"
        return DataError(
            f"{name} is {what}, whose rows have lengths of their own",
            "an array has one length for all of its rows",
            "gx.data.bucket(rows, targets, sizes=[...]), which pads to a few lengths"
            + (f"; {name}.to_tensor(), or dataset.padded_batch(...)" if leaf is not array else ""),
        )
    if hasattr(leaf, "dense_shape"):
        return DataError(
            f"{name} is a {kind}", "models compute with dense arrays", f"dataset.map with tf.sparse.to_dense({name})"
        )
    what = kind if not hasattr(leaf, "dtype") else f"an array of dtype {array.dtype}"
    if array.dtype.kind == "O" and array.ndim and array.size and all(isinstance(one, Number) for one in array.flat):
        return non_numeric_error(f"{name} holds {what}, of numbers of Python", f'{name}.astype("float32")')
    return non_numeric_error(f"{name} holds {what}", numbers_instead(array.dtype.kind, name))


def numbers_instead(kind: str, name: str) -> str:
    """Return the line that makes numbers of dates or spans of time; empty for other kinds.

    Example:
        >>> numbers_instead("m", "x")
        'x / np.timedelta64(1, "D"), in days'
    """
    if kind == "M":
        return f'({name} - {name}.min()) / np.timedelta64(1, "D"), in days'
    return f'{name} / np.timedelta64(1, "D"), in days' if kind == "m" else ""
