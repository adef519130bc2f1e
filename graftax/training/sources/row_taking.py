"""Rows of an array of NumPy, in any order."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_SHORT = 128  # bytes, of which memory gives some 64 at once


def rows_of(array: Any, rows: Any) -> Any:
    """Return some rows of an array, in any order: they come from a permutation, and are in range.

    Args:
        array: An array of NumPy; others are indexed.
        rows: The numbers of the rows, or a slice.

    Example:
        >>> rows_of(np.array([10, 20, 30]), np.array([2, 0])).tolist()
        [30, 10]
    """
    if type(array) is not np.ndarray or type(rows) is not np.ndarray:
        return array[rows]
    if array.flags.c_contiguous:
        return array.take(rows, 0, mode="clip")  # needs a fifth of the time of an index
    table = array.base  # `take` of some columns would first make one piece of them, at each batch
    if type(table) is not np.ndarray or not _are_columns(array, table):
        return array[rows]
    begin = _address(array) - _address(table)
    found = table.take(rows, 0, mode="clip")
    return np.ndarray((len(rows), *array.shape[1:]), array.dtype, found, begin, (found.strides[0], *array.strides[1:]))


def _are_columns(array: np.ndarray[Any, Any], table: np.ndarray[Any, Any]) -> bool:
    """Tell whether an array is part of each row of a table whose rows are short, or little longer than the part."""
    if not table.flags.c_contiguous or table.shape[:1] != array.shape[:1] or table.strides[0] != array.strides[0]:
        return False
    width = table.strides[0]
    return width <= _SHORT or width <= 2 * array.itemsize * math.prod(array.shape[1:])


def _address(array: np.ndarray[Any, Any]) -> int:
    return int(array.__array_interface__["data"][0])
