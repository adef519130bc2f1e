"""NumPy's functions with JAX's result types: 32 bits, arrays in place of scalars, floats from integers, no warnings."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from types import ModuleType
from typing import Any

import numpy as np

from graftax.backend.host import NARROW
from graftax.core.typedefs import Array
from graftax.core.wrapping import wraps

_wide: ContextVar[bool] = ContextVar("graftax.numpy.x64", default=False)

_WIDE_OF = {np.dtype(wide): np.dtype(narrow) for wide, narrow in NARROW.items()}

_TO_FLOAT = frozenset(
    "exp exp2 expm1 log log2 log10 log1p sqrt cbrt sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh "
    "arctanh reciprocal divide true_divide arctan2 hypot logaddexp copysign mean var std median quantile "
    "nanmedian nanquantile angle".split()
)
"""Functions that turn integers into floats of the default width; NumPy would give float16 for int8."""

_BOOL_COUNTS = frozenset("square floor_divide remainder power left_shift right_shift".split())
"""Functions that take booleans for 0 and 1; NumPy would give int8."""


@contextmanager
def x64(enabled: bool = True) -> Iterator[None]:
    """Keep 64-bit dtypes within the block: for reference values, as ``jax.enable_x64``."""
    token = _wide.set(enabled)
    try:
        yield
    finally:
        _wide.reset(token)


def is_wide() -> bool:
    """Tell whether 64-bit dtypes are kept now, inside `x64`."""
    return _wide.get()


def to_canonical(result: object) -> Any:
    """Return arrays in place of NumPy scalars, 32 bits in place of 64; tuples and lists element by element."""
    if isinstance(result, (np.ndarray, np.generic)):
        array = np.asarray(result)
        narrow = None if _wide.get() else _WIDE_OF.get(array.dtype)
        return array if narrow is None else array.astype(narrow)
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return type(result)(*map(to_canonical, result))
    if isinstance(result, (tuple, list)):
        return type(result)(map(to_canonical, result))
    if type(result) is bool:  # array_equal and allclose
        return np.asarray(result)
    return result


def silence(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with canonical results, without NumPy's warnings about nan and infinity.

    Half precision is computed in float32 and rounded at the end: NumPy would add up float16 in float16, and knows
    bfloat16 by halves only. Two kinds of half precision, or one and float32, meet in float32.
    """

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        with np.errstate(all="ignore"), _ignore_warnings(args, options):
            halves = {a.dtype for a in args if isinstance(a, np.ndarray) and _is_half(a.dtype)}
            if not halves:
                return to_canonical(function(*args, **options))
            wide: Sequence[Any] = args
            for half in halves:
                wide = [_cast(a, half, np.dtype("float32")) for a in wide]
            result = to_canonical(function(*wide, **options))
            if len(halves) > 1 or any(isinstance(a, np.ndarray) and _is_wider(a.dtype) for a in args):
                return result
            return _cast(result, np.dtype("float32"), halves.pop())

    return call


def _ignore_warnings(args: tuple[Any, ...], options: dict[str, Any]) -> AbstractContextManager[Any]:
    """Ignore the warnings with which NumPy gives nan, of an empty array or of too few values for ``ddof``."""
    if options.get("ddof") or any(isinstance(a, np.ndarray) and not a.size for a in args):
        return warnings.catch_warnings(action="ignore")
    return nullcontext()


def _unheard(function: Callable[..., Any]) -> Callable[..., Any]:
    """Ignore the warning with which NumPy gives nan of nothing but nan."""

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        with warnings.catch_warnings(action="ignore"):
            return function(*args, **options)

    return call


def _is_half(dtype: np.dtype[Any]) -> bool:
    return dtype.num >= 256 or dtype.num == _FLOAT16


def _is_wider(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "fc" and not _is_half(dtype)


_FLOAT16 = np.dtype("float16").num


def copy_results(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with results that share no memory with its arguments, as views would."""

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        return _copy_if_shared(function(*args, **options), args)

    return call


def _copy_if_shared(result: object, args: tuple[Any, ...]) -> Any:
    if isinstance(result, (tuple, list)):
        return type(result)(_copy_if_shared(part, args) for part in result)
    if isinstance(result, np.ndarray) and (result.base is not None or any(result is one for one in args)):
        return np.array(result)
    return result


def _cast(value: Any, source: np.dtype[Any], target: np.dtype[Any]) -> Any:
    if isinstance(value, np.ndarray) and value.dtype == source:
        return value.astype(target)
    kind: Any = type(value)
    return kind(_cast(v, source, target) for v in value) if kind in (list, tuple) else value


def _with_inputs(convert: Callable[[Any], Any], function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        return function(*map(convert, args), **options)

    return call


def _to_floating(x: object) -> Any:
    if isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "iub":
        return x.astype("float64" if _wide.get() else "float32")
    return x


def _bool_to_int(x: object) -> Any:
    return x.astype("int32") if isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind == "b" else x


def _for_booleans(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function with JAX's results for booleans, of which NumPy makes other numbers, or none."""

    @wraps(function)
    def call(x: Array, *args: Any, **options: Any) -> Any:
        if x.dtype.kind != "b":
            return function(x, *args, **options)
        if name == "round":
            raise TypeError("booleans are not rounded")
        return np.array(x)

    return call


def _adapt(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    if name in ("real", "imag"):
        return copy_results(function)
    if name in ("positive", "conj", "round"):
        return _for_booleans(name, function)
    if name in _TO_FLOAT:
        return _with_inputs(_to_floating, function)
    if name in _BOOL_COUNTS:
        return _with_inputs(_bool_to_int, function)
    return function


def _nan_to_num(x: Any, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Any:
    """Replace nan and infinities in the dtype as it is, by its largest number; NumPy's leaves bfloat16 alone."""
    if x.dtype.kind in "iub":
        return np.array(x)
    if x.dtype.kind == "c":
        return to_canonical(np.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf))
    with np.errstate(all="ignore"):
        largest = np.nextafter(x.dtype.type(np.inf), x.dtype.type(0))
        found = np.where(x == np.inf, x.dtype.type(largest if posinf is None else posinf), x)
        found = np.where(x == -np.inf, x.dtype.type(-largest if neginf is None else neginf), found)
        return np.where(np.isnan(x), x.dtype.type(nan), found)


class NumpyNamespace:
    """A module of NumPy whose functions give canonical results; each is wrapped when it is first used."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        if isinstance(found, ModuleType):
            found = NumpyNamespace(found)
        elif name == "nan_to_num":
            found = _nan_to_num
        elif callable(found) and not isinstance(found, type):
            found = silence(_adapt(name, found))
            if name in ("nanmedian", "nanquantile"):
                found = _unheard(found)
        self.__dict__[name] = found
        return found

    def __repr__(self) -> str:
        return f"<{self._module.__name__} with canonical results>"
