"""The meaning of a batch, and of a list of batches. No other module decides it."""

from __future__ import annotations

from typing import Any

from graftax.core import tree
from graftax.core.errors import DataError
from graftax.training.arrays import is_array, is_numbers

Batch = tuple[Any, ...]
"""``(x,)``, ``(x, y)`` or ``(x, y, sample_weight)``."""

Parts = tuple[Any, Any, Any]
"""Inputs; targets or None; sample weights or None."""

NAMES = ("x", "y", "sample_weight")


def unpack(batch: object) -> Parts:
    """Return a triple: a tuple or list is ``(x,)``, ``(x, y)`` or ``(x, y, sample_weight)``; all else is ``x``.

    A flat list of numbers is ``x``, too: neither targets nor inputs of a batch are one number.

    Raises:
        DataError: the tuple or list has another length, or is a list of lists of numbers, which may be rows or parts.

    Example:
        >>> unpack(["x", "y"]), unpack({"a": 1})
        (('x', 'y', None), ({'a': 1}, None, None))
    """
    if isinstance(batch, list) and batch and is_numbers(batch):
        if any(isinstance(part, list | tuple) for part in batch):
            raise DataError(
                f"a batch that is a list of {len(batch)} lists of numbers",
                "it may be the rows of x, or the parts x and y",
                "np.asarray(batch) for rows; a tuple for parts: (x, y)",
            )
        return batch, None, None
    if not isinstance(batch, tuple | list):
        return batch, None, None
    if not 1 <= len(batch) <= 3:
        raise DataError(
            f"a batch that is a {type(batch).__name__} of {len(batch)}",
            "a batch is x, (x, y) or (x, y, sample_weight)",
            "several inputs go into a list or dict: ({'a': ..., 'b': ...}, y)",
        )
    x, y, sample_weight = (*batch, None, None)[:3]
    return x, y, sample_weight


def pack(x: object, y: object = None, sample_weight: object = None) -> Batch:
    """Return a batch without missing parts at its end."""
    if sample_weight is not None:
        return x, y, sample_weight
    return (x,) if y is None else (x, y)


def weighing_arguments(sample_weight: object, class_weight: object) -> tuple[str, ...]:
    """Return the arguments by which weights were given, those that are not None, as messages write them."""
    given = {"sample_weight=": sample_weight, "class_weight=": class_weight}
    return tuple(name for name, value in given.items() if value is not None)


def is_list_of_batches(x: object) -> bool:
    """Tell whether elements of a list are batches: tuples, lists of two or three structures, or dicts.

    A list of arrays is no list of batches: a model with several inputs takes them in a list.

    Example:
        >>> import numpy as np
        >>> a = np.ones(2)
        >>> is_list_of_batches([[a, a], [a, a]]), is_list_of_batches([a, a]), is_list_of_batches([[1, 2], [3, 4]])
        (True, False, False)
    """
    if not isinstance(x, list) or not x:
        return False
    if all(isinstance(batch, tuple) for batch in x):
        return all(1 <= len(batch) <= 3 and not isinstance(batch[0], bool | int | float) for batch in x)
    if all(isinstance(batch, list) for batch in x):
        return all(2 <= len(batch) <= 3 and _holds_arrays(batch) for batch in x)
    return all(isinstance(batch, dict) and _holds_arrays(batch) for batch in x)


def _holds_arrays(batch: object) -> bool:
    leaves = [leaf for leaf in tree.flatten(batch) if leaf is not None]
    return bool(leaves) and all(is_array(leaf) for leaf in leaves)


def parts_of_validation(data: object) -> Parts | None:
    """Return ``x``, ``y`` and weights of ``validation_data``; None for an iterable of batches, or ``x`` alone.

    Raises:
        DataError: it is a list of lists (or of dicts), which may be batches or parts.
    """
    if isinstance(data, tuple):
        return unpack(data)
    if not isinstance(data, list) or not data:
        return None
    if is_list_of_batches(data) and not isinstance(data[0], tuple) and len(data) <= 3:
        inner = "lists of arrays" if isinstance(data[0], list) else "dicts"
        raise DataError(
            f"validation_data is a list of {len(data)} {inner}",
            "it may be batches, or x and y with several arrays each",
            "tuples for what is x and y: validation_data=(x, y), or validation_data=[(x, y), (x, y)] for batches",
        )
    if is_list_of_batches(data):
        return None
    return unpack(tuple(data))
