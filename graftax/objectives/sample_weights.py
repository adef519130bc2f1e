"""Weights of samples: finite, and spread over the values that they weigh."""

from functools import partial
from typing import Any

import numpy as np

from graftax import ops
from graftax.backend import registry, traced_checks
from graftax.core.dtypes import is_complex
from graftax.core.errors import ArgumentError, DTypeError, ShapeError
from graftax.core.typedefs import Array, ArrayLike, Shape
from graftax.ops.checks import subscript


def check_weights(sample_weight: ArrayLike, name: str = "sample_weight") -> None:
    """Raise if a weight at hand is nan or infinite, hidden or not; nothing while compiling, unless checks are wanted.

    Raises:
        ArgumentError: names the weight.
    """
    arrays = registry.current().arrays
    weights: Any = sample_weight if isinstance(sample_weight, np.ndarray) else ops.asarray(sample_weight)
    if weights.dtype.kind in "biuc":  # complex ones are refused for what they are
        return
    if not isinstance(weights, np.ndarray) and not arrays.is_concrete(weights):
        if traced_checks.is_checking():
            traced_checks.emit(partial(_weight_error, name), ops.any(ops.logical_not(ops.isfinite(weights))), weights)
        return
    host = weights if isinstance(weights, np.ndarray) else arrays.to_numpy(weights)
    if (error := _weight_error(name, host)) is not None:
        raise error


def _weight_error(name: str, weights: np.ndarray[Any, Any]) -> ArgumentError | None:
    wrong = ~np.isfinite(weights.astype("float32") if weights.dtype.kind == "V" else weights)
    if not wrong.any():
        return None
    place = tuple(np.argwhere(wrong)[0])
    return ArgumentError(
        f"{subscript(name, place)} = {weights[place]}",
        "a weight that is not finite makes the whole sum so",
        f"np.nan_to_num({name}, nan=0, posinf=0, neginf=0): a sample of weight 0 does not count",
    )


def broadcast_weight(weight: ArrayLike, values: Array, name: str = "sample_weight") -> Array:
    """Repeat weights to the shape of per-sample values: one number, one for each sample, or one for each value.

    Raises:
        ShapeError: they do not fit.
        DTypeError: they are complex.

    Example:
        >>> broadcast_weight([1.0, 2.0], ops.zeros((2, 3))).tolist()
        [[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]]
    """
    given = weight = ops.asarray(weight)
    if is_complex(given.dtype):
        raise DTypeError(f"{name} of dtype {given.dtype.name}", "weights are real", f"ops.real({name})")
    shape = values.shape
    if weight.shape == (*shape, 1):
        weight = ops.squeeze(weight, -1)
    if 0 < weight.ndim < len(shape):
        weight = ops.reshape(weight, (*weight.shape, *[1] * (len(shape) - weight.ndim)))
    fits = weight.ndim == len(shape) and weight.shape[:1] == shape[:1]
    if weight.ndim and not (fits and all(a in (1, b) for a, b in zip(weight.shape, shape, strict=True))):
        raise ShapeError(
            f"{name} {list(given.shape)} for values {list(shape)}, one for each sample",
            f"{name} has one number for each value or for each sample, never more"
            if shape
            else "a value that is one number already cannot be weighted sample by sample",
            _suggest_weights(name, tuple(given.shape), tuple(shape)),
        )
    return ops.broadcast_to(weight, shape)


def _suggest_weights(name: str, weights: Shape, shape: Shape) -> str:
    if not shape:
        return "a function that leaves one value for each sample: ops.mean(..., axis=-1)"
    if weights == (1, *shape[1:]):  # the same for all samples
        return f"ops.broadcast_to({name}, {shape}), if it is the same for every sample"
    if len(weights) == len(shape) + 1 and weights[:-1] == shape:
        return (
            f"{name} of shape {list(shape)}; or, where each label has a weight, and a loss that takes each by itself "
            "(binary_crossentropy, mse), targets and outputs with an axis more, so that each label has a value: "
            f"y[..., None], and, if outputs are no {[*shape[:1], *weights[1:], 1]} already, "
            f"layers.Reshape(({', '.join(map(str, weights[1:]))}, 1)) at the end of the model"
        )
    either = f" or {list(shape)}" if len(shape) > 1 else ""
    return f"{name} of shape {list(shape[:1])}{either}"
