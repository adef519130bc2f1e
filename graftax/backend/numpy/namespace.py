"""NumPy's functions with JAX's result types: 32 bits, arrays in place of scalars, floats from integers, no warnings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from types import ModuleType
from typing import Any

import numpy as np

from graftax.backend.host import NARROW

_wide: ContextVar[bool] = ContextVar("graftax.numpy.x64", default=False)

_WIDE_OF = {np.dtype(wide): np.dtype(narrow) for wide, narrow in NARROW.items()}

_TO_FLOAT = frozenset(
    "exp exp2 expm1 log log2 log10 log1p sqrt cbrt sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh "
    "arctanh reciprocal divide true_divide arctan2 hypot logaddexp copysign mean var std median quantile angle "
    "inv det slogdet solve svd qr eigh pinv cholesky".split()
)
"""Functions that turn integers into floats of the default width; NumPy would give float16 for int8."""


@contextmanager
def x64(enabled: bool = True) -> Iterator[None]:
    """Inside, 64-bit dtypes are kept: for reference values, as ``jax.enable_x64``."""
    token = _wide.set(enabled)
    try:
        yield
    finally:
        _wide.reset(token)


def is_wide() -> bool:
    """True inside `x64`."""
    return _wide.get()


def canonical(result: Any) -> Any:
    """Arrays in place of NumPy scalars, 32 bits in place of 64; tuples and lists element by element."""
    if isinstance(result, (np.ndarray, np.generic)):
        array = np.asarray(result)
        narrow = None if _wide.get() else _WIDE_OF.get(array.dtype)
        return array if narrow is None else array.astype(narrow)
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return type(result)(*map(canonical, result))
    if isinstance(result, (tuple, list)):
        return type(result)(map(canonical, result))
    if type(result) is bool:  # array_equal and allclose
        return np.asarray(result)
    return result


def quiet(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with canonical results and without NumPy's warnings about nan and infinity."""

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        with np.errstate(all="ignore"):
            return canonical(function(*args, **options))

    return call


def _to_float(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        arrays = [a for a in args if isinstance(a, (np.ndarray, np.generic))]
        if arrays and all(a.dtype.kind in "iub" for a in arrays):
            first = next(i for i, a in enumerate(args) if isinstance(a, (np.ndarray, np.generic)))
            args = (*args[:first], args[first].astype("float64" if _wide.get() else "float32"), *args[first + 1 :])
        return function(*args, **options)

    return call


class NumpyNamespace:
    """A module of NumPy whose functions give canonical results; each is wrapped when it is first used."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        if isinstance(found, ModuleType):
            found = NumpyNamespace(found)
        elif callable(found) and not isinstance(found, type):
            found = quiet(_to_float(found) if name in _TO_FLOAT else found)
        self.__dict__[name] = found
        return found

    def __repr__(self) -> str:
        return f"<{self._module.__name__} with canonical results>"
