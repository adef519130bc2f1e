"""Data that a run of `fit` has copied: lists of numbers, tables, values of Variables. Later changes are told."""

from __future__ import annotations

from typing import Any

import numpy as np

from graftax.core import tree, user_line
from graftax.core.errors import GraftaxError
from graftax.core.typedefs import VariableLike
from graftax.training.arrays import as_arrays, is_numbers
from graftax.training.sources.stored_rows import StoredRows


class CopiedData:
    """The parts of the data of a run of which there are copies, so that what is written to them later has no effect.

    Args:
        given: ``x``, ``y`` and ``sample_weight`` as they were given, by name; None is left out.
        arrays: The same as arrays.

    Example:
        >>> import warnings
        >>> y = [0.0, 1.0]
        >>> copied = CopiedData({"y": y}, {"y": np.float32(y)})
        >>> y[0] = 1.0
        >>> with warnings.catch_warnings(record=True) as told:
        ...     warnings.simplefilter("always")
        ...     copied.warn_if_changed()
        >>> len(told)
        1
    """

    def __init__(self, given: dict[str, Any], arrays: dict[str, Any]) -> None:
        self._parts = {name: (part, arrays[name]) for name, part in given.items() if _is_copied(part)}

    def warn_if_changed(self) -> None:
        """Warn, once for each part, if it is not what it was."""
        for name, (given, before) in list(self._parts.items()):
            if not _is_still(given, name, before):
                del self._parts[name]
                user_line.warn(
                    f"{name}, a {type(given).__name__}, has changed since fit was given it, which has no effect: the "
                    f"run goes on with a copy. Instead: {name} = np.array({name}) before fit, and {name}[...] = values "
                    "in this array, whose rows are read batch by batch"
                )


def _is_copied(part: Any) -> bool:
    if isinstance(part, list | tuple) and part and is_numbers(part):
        return True
    if isinstance(part, list | tuple | dict):
        return any(map(_is_copied, part.values() if isinstance(part, dict) else part))
    return isinstance(part, VariableLike) or (hasattr(part, "to_numpy") and not isinstance(part, np.ndarray))


def _is_still(given: Any, name: str, before: Any) -> bool:
    try:
        return _are_equal(as_arrays(given, name, keeps_integers=name == "y"), before)
    except GraftaxError:  # it has become what fit would refuse, and the run does not use it
        return False


def _are_equal(now: Any, before: Any) -> bool:
    one, other = tree.flatten(now), tree.flatten(before)
    return len(one) == len(other) and all(
        a is b
        or isinstance(b, StoredRows)  # whose rows are read batch by batch
        or (isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and _are_same_numbers(a, b))
        for a, b in zip(one, other, strict=True)
    )


def _are_same_numbers(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> bool:
    return one.shape == other.shape and bool(((one == other) | ((one != one) & (other != other))).all())
