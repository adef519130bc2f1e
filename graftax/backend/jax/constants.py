"""Constants of a traced program: copies of small arrays of NumPy, which may change in place later."""

from __future__ import annotations

from typing import Any

import numpy as np


def copy_constant(constant: Any) -> Any:
    """Return a constant of a trace that shares nothing with an array of NumPy.

    As long as a program keeps what JAX has made of such an array, a later trace would find that again, and not the
    array as it is by then. Larger arrays are used as they are: a change of one leads to no later trace either.
    """
    if not isinstance(constant, np.ndarray) or constant.nbytes > _COPIED or constant.dtype.hasobject:
        return constant
    is_weak = getattr(getattr(constant, "aval", None), "weak_type", False)
    return constant if is_weak else np.array(constant)


_COPIED = 2**16  # bytes; the content of arrays up to this size is compared at each call
