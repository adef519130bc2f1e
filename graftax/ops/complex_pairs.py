"""Complex numbers as pairs of real ones, and back."""

from __future__ import annotations

from typing import Any

from graftax.backend.protocol import Arrays
from graftax.core.errors import DTypeError, ShapeError
from graftax.core.typedefs import Array
from graftax.ops.functions import row
from graftax.ops.reductions import to_inexact


@row
def view_as_complex(a: Arrays, x: Array) -> Any:
    if not x.ndim or x.shape[-1] != 2:
        raise ShapeError(
            f"view_as_complex: x {list(x.shape)}",
            "its last axis is a real and an imaginary part",
            "ops.stack([real, imag], -1)",
        )
    x = to_inexact(a, x)
    x = a.asarray(x, "float32") if x.dtype.itemsize < 4 else x
    return a.complex_of(x[..., 0], x[..., 1])


@row
def view_as_real(a: Arrays, x: Array) -> Any:
    if x.dtype.kind != "c":
        raise DTypeError(
            f"view_as_real: x {x.dtype.name}", "it has no imaginary part", "ops.stack([x, ops.zeros_like(x)], -1)"
        )
    return a.numpy.stack([a.numpy.real(x), a.numpy.imag(x)], -1)
