"""Directions that users give: a tangent for what goes in, a weight for what comes out."""

from __future__ import annotations

from typing import Any

from graftax.backend import registry
from graftax.core.dtypes import is_complex, is_floating
from graftax.core.errors import DTypeError
from graftax.core.typedefs import ArrayLike, DTypeLike, unwrap


def direction(name: str, value: ArrayLike, dtype: DTypeLike) -> Any:
    """Return a tangent or weight as an array of the dtype of what it belongs to.

    Args:
        name: What to call it in messages.
        value: The numbers.
        dtype: The dtype of the array to which they belong.

    Raises:
        DTypeError: The numbers are complex, and the array is real: the imaginary parts would be lost.
    """
    arrays = registry.current().arrays
    found = arrays.asarray(unwrap(value))
    if is_floating(str(dtype)) and is_complex(found.dtype):
        raise DTypeError(
            f"{name} is {found.dtype}{list(found.shape)}, what it belongs to is {dtype}",
            "the imaginary part has nothing to belong to, and would be lost",
            "ops.real(direction)",
        )
    return arrays.asarray(found, str(dtype))
