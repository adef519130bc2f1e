"""The arrays that sample inputs of ops are made of."""

from __future__ import annotations

from typing import Any

import numpy as np

X = np.array([[-1.5, -0.5, 0.25], [1.0, 2.0, 3.5]], "float32")
Y = np.array([[0.5, -2.0, 1.5], [3.0, 0.75, -0.25]], "float32")
POSITIVE = np.abs(X) + np.float32(0.1)
UNIT = np.array([[-0.9, -0.3, 0.0], [0.2, 0.5, 0.8]], "float32")
ABOVE_ONE = POSITIVE + np.float32(1)
SQUARE = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, -0.5], [0.5, -0.5, 2.0]], "float32")
INTEGERS = np.array([[3, -7, 5], [12, 0, 9]], "int32")
DIVISORS = np.array([[2, 3, -2], [5, 1, -4]], "int32")
BOOLS = np.array([[True, False, True], [False, False, True]])
LINE = np.array([1.0, 2.5, 3.0, 7.0], "float32")
IMAGE = np.linspace(-1, 1, 2 * 6 * 5 * 3, dtype="float32").reshape(2, 6, 5, 3) ** 3
KERNEL = np.cos(np.arange(3 * 2 * 3 * 4, dtype="float32")).reshape(3, 2, 3, 4)
SIGNAL = np.sin(np.arange(2 * 7 * 4, dtype="float32")).reshape(2, 7, 4)
COMPLEX = np.array([1 + 2j, -0.5j, -3.0], "complex64")
INFINITE = np.array([1.0, np.inf, -np.inf, np.nan], "float32")

QUERY = np.sin(np.arange(2 * 3 * 4 * 5, dtype="float32")).reshape(2, 3, 4, 5)
KEY = np.cos(np.arange(2 * 6 * 4 * 5, dtype="float32")).reshape(2, 6, 4, 5)
VALUE = np.sin(np.arange(2 * 6 * 4 * 2, dtype="float32") * 2).reshape(2, 6, 4, 2)
ALLOWED = np.arange(2 * 3 * 6).reshape(2, 1, 3, 6) % 3 != 1
ALLOWED[1, 0, 2] = False  # nothing to attend to

Case = tuple[tuple[Any, ...], dict[str, Any]]


def case(*args: Any, **options: Any) -> Case:
    """Return the arguments of a call, by position and by name."""
    return args, options
