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


@cache
def is_half(dtype: object) -> bool:
    """Return True for real numbers of half precision and less.

    Args:
        dtype: A dtype, or its name.

    Example:
        >>> is_half("bfloat16"), is_half("float32"), is_half("int8")
        (True, False, False)
    """
    return is_floating(dtype) and str(dtype) not in ("float32", "float64")


def at_least_single(dtype: str) -> str:
    """Return float32 for half precision, in which sums and random draws go wrong, and any other dtype as it is.

    Args:
        dtype: The name of a dtype.

    Example:
        >>> at_least_single("bfloat16"), at_least_single("float64")
        ('float32', 'float64')
    """
    return "float32" if is_half(dtype) else dtype
