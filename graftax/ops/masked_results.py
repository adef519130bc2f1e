"""What an op gives where arrays have masks: without one, unless the op keeps it, whatever object the backend gave.

A mask belongs to an array object. An op that changes nothing, such as a reshape to the same shape, can give the very
object that it got: a backend does so while tracing, but seldom eagerly. The mask must not depend on that.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from graftax.backend.registry import current
from graftax.core import tree
from graftax.core.masked_arrays import carry_over, entry_of

KEEPING = frozenset({"asarray", "cast"})
"""The ops whose result has the mask of their first argument, since it stands for the same values."""


def with_mask(source: object, result: Any) -> Any:
    """Return what an op that keeps masks gave, with the mask of what it got."""
    carry_over(source, result)
    return result


def without_mask(result: Any) -> Any:
    """Return what an op gave; in place of an array with a mask, which is one that came in, an equal one without."""
    if isinstance(result, list | tuple):
        leaves = tree.flatten(result)
        if all(entry_of(leaf) is None for leaf in leaves):
            return result
        return tree.rebuild(result, iter([without_mask(leaf) for leaf in leaves]))
    return result if entry_of(result) is None else copy_array(result)


def copy_array(x: object) -> Any:
    """Return an equal array that is another object, which costs nothing in compiled code."""
    return np.array(x) if isinstance(x, np.ndarray) else current().arrays.numpy.array(x)
