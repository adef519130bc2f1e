"""total: the sum of single numbers, one for each of many variables."""

from __future__ import annotations

from collections.abc import Sequence

from graftax import ops
from graftax.core.typedefs import Array

_FEW = 16


def total(numbers: Sequence[Array]) -> Array:
    """Return the sum of single numbers of one dtype, at least one.

    Of a plain sum, XLA makes a chain of additions, and repeats it in each loop that uses the result: where the update
    of each of 300 variables does, compiling takes ten times as long. The last of running sums is computed once.

    Args:
        numbers: Arrays of shape ``()``.

    Returns:
        An array of shape ``()``.

    Example:
        >>> import numpy as np
        >>> float(total([np.float32(1.0), np.float32(2.0)]))
        3.0
    """
    row = ops.stack(list(numbers))
    return ops.sum(row) if len(numbers) <= _FEW else ops.cumsum(row)[-1]
