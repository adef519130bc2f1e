"""What each op is given besides its sample inputs: other dtypes, arrays without elements, arguments that are none."""

import math
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from graftax import ops
from graftax.backend.registry import use
from graftax.backend.testing.op_cases import INPUTS
from graftax.core.errors import GraftaxError
from graftax.ops.signatures import parameters, settings
from graftax.ops.table import OPS

INDEXED = frozenset(
    "take take_along_axis gather_nd scatter_add segment_sum one_hot slice slice_update "
    "segment_mean segment_max segment_min segment_softmax scatter scatter_update multi_hot in_top_k ctc_loss "
    "ctc_decode unravel_index".split()
)

ODD = (1.5, "text", (0, 0), (5,), (True,), 1j, object, {}, b"x", 10**10, ("a",), [[0], [1, 2]])
"""What hardly any argument may be."""
PLAUSIBLE = (
    0, 1, 2, -3, 7, 1.0, -0.5, "", (), (0,), (0, -2), [1, 0], (-1, -1), (1.5,), np.int64(1), np.array([0, 1]),
    None, True, -1, math.nan, np.float32(1), range(2), ((1, 1), (0, 0)), ((1,), (0,)), "float16", "int8", "same",
    np.bool_(True),
)  # fmt: skip
"""What some arguments may be."""

Outcome = tuple[str, Any]


def outcome(call: Callable[[], Any]) -> Outcome:
    """The arrays that came, or the name of the error; an error of somebody else is none."""
    try:
        with warnings.catch_warnings(action="error"):
            return "gave", values(call())
    except GraftaxError as error:
        beats = bool(error.reason and error.instead)
        return type(error).__name__ if beats else f"{type(error).__name__} without three beats", str(error)


def values(result: Any) -> Any:
    """Arrays on the host, nested as they came."""
    return [values(one) for one in result] if isinstance(result, (tuple, list)) else np.asarray(result)


def alike(left: Any, right: Any) -> bool:
    """True if shapes, dtypes and numbers agree, nan with nan."""
    if isinstance(left, list) or isinstance(right, list):
        return (
            isinstance(left, list)
            and isinstance(right, list)
            and len(left) == len(right)
            and all(map(alike, left, right))
        )
    if left.shape != right.shape or left.dtype != right.dtype:
        return False
    close = 2e-2 if left.dtype.itemsize < 4 else 1e-3
    return bool(np.allclose(left.astype(complex), right.astype(complex), rtol=close, atol=1e-4, equal_nan=True))


def difference(call: Callable[[], Any]) -> str | None:
    """How the two backends part, or None: the same arrays, or the same class of error."""
    with use("jax"):
        ours = outcome(call)
    with use("numpy"):
        reference = outcome(call)
    if ours[0] != reference[0]:
        return f"jax {ours[0]}: {str(ours[1])[:200]} / numpy {reference[0]}: {str(reference[1])[:200]}"
    if ours[0] == "gave" and not alike(ours[1], reference[1]):
        return f"jax {ours[1]} / numpy {reference[1]}"
    return None


def with_settings(name: str, pool: tuple[Any, ...]) -> Iterator[tuple[str, Any, Callable[[], Any]]]:
    """Calls of an op in each of which one argument that is no array is one of the pool."""
    function = getattr(ops, name)
    args, options = INPUTS[name][0]
    places = parameters(OPS[name])
    for one in settings(OPS[name]):
        for given in pool:
            setting, place = one.name, places.index(one)
            if place < len(args) and not any(before.starred for before in places[:place]):
                changed = (*args[:place], given, *args[place + 1 :])
                yield setting, given, lambda changed=changed: function(*changed, **options)
            else:
                more = {**options, setting: given}
                yield setting, given, lambda more=more: function(*args, **more)


def converted(value: Any, convert: Callable[[np.ndarray[Any, Any]], Any]) -> Any:
    """The arrays in an argument, lists of them included, converted."""
    if isinstance(value, np.ndarray):
        return convert(value)
    if isinstance(value, (list, tuple)) and any(isinstance(one, np.ndarray) for one in value):
        return type(value)(converted(one, convert) for one in value)
    return value


def in_dtype(name: str, dtype: str) -> Callable[[], Any]:
    """A call of an op with its arrays in a dtype, indices and conditions as they are."""

    def convert(array: np.ndarray[Any, Any]) -> Any:
        if (name in INDEXED and array.dtype.kind in "iu") or (name in ("where", "select") and array.dtype.kind == "b"):
            return array
        with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
            return array.astype(dtype)

    args, options = INPUTS[name][0]
    changed = [converted(one, convert) for one in args]
    return lambda: getattr(ops, name)(*changed, **options)


EMPTY: dict[str, Callable[[np.ndarray[Any, Any]], Any]] = {
    "no rows": lambda x: x[:0] if x.ndim else x,
    "no columns": lambda x: x[..., :0] if x.ndim else x,
    "nothing": lambda x: np.zeros((0,) * x.ndim, x.dtype),
    "one number": lambda x: x.reshape(-1)[0],
}


def without_elements(name: str, how: str) -> Callable[[], Any]:
    """A call of an op with its arrays cut."""
    args, options = INPUTS[name][0]
    changed = [converted(one, EMPTY[how]) for one in args]
    return lambda: getattr(ops, name)(*changed, **options)


def special(name: str, number: float) -> Callable[[], Any]:
    """A call of an op with every third element of its float arrays nan or infinite."""

    def put(array: np.ndarray[Any, Any]) -> Any:
        if array.dtype.kind != "f":
            return array
        place = np.arange(array.size).reshape(array.shape) % 3 == 0
        return np.where(place, number, array).astype(array.dtype)

    args, options = INPUTS[name][0]
    changed = [converted(one, put) for one in args]
    return lambda: getattr(ops, name)(*changed, **options)
