"""Kinds of dtypes, by their names: those of NumPy, of a backend and of ``ml_dtypes`` alike."""

from __future__ import annotations

from functools import cache


@cache  # the name of a dtype takes longer to make than a look here
def is_floating(dtype: object) -> bool:
    """Return True for real numbers with fractions, half precision included.

    Args:
        dtype: A dtype, or its name.

    Example:
        >>> is_floating("bfloat16"), is_floating("complex64"), is_floating("int32")
        (True, False, False)
    """
    return "float" in str(dtype)


@cache
def is_complex(dtype: object) -> bool:
    """Return True for complex numbers.

    Args:
        dtype: A dtype, or its name.

    Example:
        >>> is_complex("complex64"), is_complex("float32")
        (True, False)
    """
    return "complex" in str(dtype)


def is_inexact(dtype: object) -> bool:
    """Return True for numbers with fractions, real or complex: what has gradients.

    Args:
        dtype: A dtype, or its name.

    Example:
        >>> is_inexact("bfloat16"), is_inexact("complex64"), is_inexact("bool")
        (True, True, False)
    """
    return is_floating(dtype) or is_complex(dtype)
