"""Points where formulas lose what mathematics has, and the rule by which a nan there is a mistake.

A result that is not finite is a mistake if the same function in float64 has a finite one at the same point, which the
short dtype can hold, or comes to one as its arguments come to the point from above or below. So a division by 0 is no
mistake, and neither is an overflow that the dtype makes inevitable; the slope nan of a length of 0 is one.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

Arrays = Sequence[Any]

POINTS: dict[str, tuple[float, bool]] = {
    "0": (0.0, False),
    "-0": (-0.0, False),
    "1": (1.0, False),
    "-1": (-1.0, False),
    "equal": (0.7, False),
    "1e-30": (1e-30, False),
    "-1e-30": (-1e-30, False),
    "1e-38": (1.2e-38, False),
    "1e4": (1e4, False),
    "-1e4": (-1e4, False),
    "1e30": (1e30, False),
    "-1e30": (-1e30, False),
    "times 0": (0.0, True),
    "times 1e-30": (1e-30, True),
    "times 1e4": (1e4, True),
    "times 1e30": (1e30, True),
}
"""A number, and whether the sample is multiplied by it; if not, all elements are that number."""
HALVES = ("bfloat16", "float16")


def at(point: str, sample: Any, dtype: str) -> Any:
    """The sample at a point, in a dtype; in float16, tiny and huge numbers are those that it has."""
    number, scales = POINTS[point]
    if dtype == "float16":
        number = np.sign(number) * min(max(abs(number), 1e-4), 1e4) if number else number
    given = np.asarray(sample, "float64")
    found = np.where(np.isfinite(given), given, 1) * number if scales else np.full(given.shape, number)
    return jnp.asarray(np.clip(found, -6e4, 6e4) if dtype == "float16" else found, dtype)


def wide(x: Any) -> np.ndarray:
    """Numbers of any kind in float64, real and imaginary parts apart."""
    host = np.asarray(x)
    return (np.stack([host.real, host.imag]) if host.dtype.kind == "c" else host).astype("float64")


def finite(arrays: Arrays) -> bool:
    return all(np.isfinite(wide(one)).all() for one in arrays)


def floats(result: Any) -> list[Any]:
    """The arrays of a result that have gradients."""
    return [one for one in jax.tree.leaves(result) if jnp.issubdtype(getattr(one, "dtype", np.int32), jnp.inexact)]


def with_gradients(function: Callable[..., Any], orders: int = 1) -> Callable[..., list[list[Any]]]:
    """Compile a function to one that returns its results, and gradients of their weighted sum, up to an order."""

    def pulled(function: Callable[..., Any], *given: Any) -> tuple[list[Any], list[Any]]:
        out, pull = jax.vjp(lambda *xs: floats(function(*xs)), *given)
        weights = [jnp.cos(1 + jnp.arange(one.size)).reshape(one.shape).astype(one.dtype) for one in out]
        return out, list(pull(weights))

    def first(*given: Any) -> list[Any]:
        return pulled(function, *given)[1]

    def run(*given: Any) -> list[list[Any]]:
        out, gradients = pulled(function, *given)
        return [out, gradients, *([pulled(first, *given)[1]] if orders > 1 else [])]

    return jax.jit(run)


def lost(found: Sequence[Arrays], exact: Callable[..., list[list[Any]]], given: Arrays, dtype: str) -> list[int]:
    """Which of the results (0), gradients (1), and second ones (2) are not finite by mistake."""
    wrong = [i for i, arrays in enumerate(found) if not finite(arrays)]
    if not wrong:
        return []
    largest = float(jnp.finfo(dtype).max) / 2
    with jax.enable_x64(True):
        point = [wide(one) for one in given]

        def near(step: float) -> list[list[np.ndarray]]:
            rng = np.random.default_rng(0)
            moved = [x + step * rng.uniform(0.5, 1, x.shape) * np.where(x == 0, 1, np.abs(x)) for x in point]
            return [[wide(one) for one in part] for part in exact(*map(jnp.asarray, moved))]

        def fits(arrays: Arrays) -> bool:
            return finite(arrays) and all(np.abs(one).max(initial=0) < largest for one in arrays)

        def arrives(i: int, sign: int) -> bool:
            far, close = near(sign * 1e-6)[i], near(sign * 1e-9)[i]
            return (
                fits(far)
                and fits(close)
                and all(
                    np.abs(a - b).max(initial=0) <= 1e-2 * (np.abs(a).max(initial=0) + 1e-3)
                    for a, b in zip(far, close, strict=True)
                )
            )

        there = near(0.0)
        return [i for i in wrong if (fits(there[i]) if finite(there[i]) else arrives(i, 1) or arrives(i, -1))]


def excused(what: str, found: list[str], exception: tuple[str, str] | None) -> list[str]:
    """Raise if there are mistakes that an exception, an expression and its reason, does not match; return the rest."""
    pattern, _ = exception or ("", "")
    wrong = [one for one in found if not re.fullmatch(pattern, one)]
    assert not wrong, f"{what}: {wrong}"
    return found
