"""check_hermitian: matrices of which an op reads both triangles as one are refused where these visibly differ."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from graftax.backend import traced_checks
from graftax.backend.protocol import Arrays
from graftax.core.dtypes import is_inexact
from graftax.core.errors import ArgumentError
from graftax.core.typedefs import Array
from graftax.ops.checks import subscript


def check_hermitian(arrays: Arrays, op: str, x: Array) -> None:
    """Refuse square matrices that differ from their conjugate transposes by more than rounding.

    One look at values that are there; while tracing nothing unless checked.

    Args:
        arrays: The arrays of the backend in charge.
        op: What asks, for the message.
        x: Square matrices.

    Raises:
        ArgumentError: two elements across the diagonal differ.
    """
    if not x.size or x.shape[-1] < 2:
        return
    share = _share(x)
    explain, wrong = partial(_not_hermitian, op, share), partial(_differs, np, share)
    if arrays.is_concrete(x):
        differs = arrays.numpy.any(_differs(arrays.numpy, share, x))
        # what is computed of a constant while a function is compiled is not there yet: the host looks
        if (not arrays.is_concrete(differs) or bool(differs)) and (
            error := _not_hermitian(op, share, arrays.to_numpy(x))
        ) is not None:
            raise error
        return
    traced_checks.tell(explain, wrong, x)
    if traced_checks.is_checking():
        traced_checks.emit(explain, arrays.numpy.any(_differs(arrays.numpy, share, x)), x)


def _share(x: Array) -> float:
    """Return how much of the largest element is no rounding: the root of the spacing of numbers, but 1e-5 at least.

    Numbers of 64 bits were often computed in 32.
    """
    name = x.dtype.name
    if not is_inexact(name):
        return 0.0
    return max(math.sqrt(_SPACINGS.get(name, 2.0**-23)), 1e-5)


_SPACINGS = {"bfloat16": 2.0**-7, "float16": 2.0**-10, "float64": 2.0**-52, "complex128": 2.0**-52}


def _differs(numpy: Any, share: float, x: Any) -> Any:
    """Tell which elements differ from their partners across the diagonal; a nan does not."""
    wide = x if x.dtype.kind in "fc" and x.dtype.itemsize >= 4 else x.astype("float32")
    largest = numpy.max(numpy.abs(wide), axis=(-2, -1), keepdims=True)
    with np.errstate(invalid="ignore"):  # infinity less infinity is nan, and differs from nothing
        return numpy.abs(wide - numpy.conj(numpy.swapaxes(wide, -1, -2))) > share * largest


def _not_hermitian(op: str, share: float, x: np.ndarray[Any, Any]) -> ArgumentError | None:
    places = np.argwhere(_differs(np, share, x))
    if not len(places):
        return None
    place = next((one for one in map(tuple, places) if one[-2] != one[-1]), tuple(places[0]))
    across = (*place[:-2], place[-1], place[-2])
    is_complex = x.dtype.kind == "c"
    lower = "ops.conj(ops.tril(x, -1).mT)" if is_complex else "ops.tril(x, -1).mT"
    mean = "(x + ops.conj(x.mT)) / 2" if is_complex else "(x + x.mT) / 2"
    return ArgumentError(
        f"{op}: {subscript('x', place)} = {x[place]}, {subscript('x', across)} = {x[across]}",
        f"the matrix must be {'Hermitian' if is_complex else 'symmetric'}: the results of one triangle, of the other, "
        "and of their mean differ",
        f"ops.tril(x) + {lower} for its lower triangle, as in NumPy; {mean} for the mean of both",
    )
