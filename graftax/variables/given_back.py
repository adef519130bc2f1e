"""What functions of the user give back: the arrays that are asked of them, or an error that names the function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graftax.backend import registry
from graftax.backend.protocol import Backend
from graftax.core.errors import ArgumentError, ArgumentTypeError, GraftaxError, ShapeError
from graftax.core.typedefs import Array, ArrayLike, Shape, unwrap
from graftax.variables.fitting import loses_nothing


def label_of(function: object) -> str:
    """Return how a function is called in messages.

    Example:
        >>> label_of(len), label_of(3)
        ('len', '3')
    """
    return str(getattr(function, "__name__", None) or f"{function!r:.60}")


def describe_value(value: Any) -> str:
    """Return a value in a message: dtype and shape of an array, a short form of anything else.

    Example:
        >>> describe_value(np.zeros((2, 3), "float32")), describe_value(None)
        ('float32[2, 3]', 'None')
    """
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"{value.dtype}{list(value.shape)}"
    return f"{value!r:.40}"


def apply_activation(activation: Callable[[Array], Array], x: Array, shape: Shape | None = None) -> Array:
    """Return an activation of an array, as an array.

    Args:
        activation: The function.
        x: What it is applied to.
        shape: What it must have, where the layer goes on computing with it. Defaults to None, any shape.

    Raises:
        ArgumentTypeError: the function gives no array.
        ShapeError: it has another shape.
    """
    out: Any = activation(x)
    if not hasattr(out, "shape") or not hasattr(out, "dtype"):
        raise ArgumentTypeError(
            f"the activation {label_of(activation)} gave {describe_value(out)} for {describe_value(x)}",
            "an activation gives an array; what gives None is often a function without a return",
            "def activation(x): return ops.maximum(x, 0)",
        )
    if shape is not None and tuple(out.shape) != tuple(shape):
        raise ShapeError(
            f"the activation {label_of(activation)} gave {describe_value(out)} for {describe_value(x)}",
            f"this layer goes on computing with the shape {tuple(shape)}",
            "a function of each element, such as ops.tanh",
        )
    return out  # type: ignore[no-any-return]


def initial_value(initializer: object, value: object, shape: Shape, dtype: str, path: str, backend: Backend) -> Array:
    """Return what an initializer gave as an array of a dtype.

    Raises:
        ArgumentTypeError: it gave no numbers.
        ArgumentError: it gave another shape, or numbers that the dtype cannot hold.
    """
    arrays = backend.arrays
    given = unwrap(value)
    if given is None or isinstance(given, str):
        raise ArgumentTypeError(
            f"the initializer {label_of(initializer)} gave {describe_value(given)} for the variable {path!r}",
            "it gives the first value; what gives None is often a function without a return",
            "def initializer(key, shape, dtype): return ops.zeros(shape, dtype)",
        )
    array = arrays.asarray(given, dtype)
    if tuple(array.shape) != shape:
        raise ArgumentError(
            f"the initializer {initializer!r} gave shape {tuple(array.shape)} for the variable {path!r}",
            f"its shape is {shape}",
            "return an array of the shape that is asked for",
        )
    source = str(given.dtype if hasattr(given, "dtype") else np.asarray(given).dtype)
    if not loses_nothing(source, dtype) and (np.asarray(given) != arrays.to_numpy(array)).any():
        raise ArgumentError(
            f"the initializer {label_of(initializer)} gave {describe_value(given)} for the variable {path!r}",
            f"a variable of dtype {dtype} cannot hold these numbers",
            f'return ops.cast(ops.round(x), "{dtype}")',
        )
    return array


def penalty(value: ArrayLike, subject: str) -> Array:
    """Return a term of the loss, one real number, as an array.

    Args:
        value: What was given.
        subject: What gave or got it, with the verb, for messages.

    Raises:
        ArgumentTypeError: it is no real number.
        ShapeError: it is several.
    """
    given: Any = unwrap(value)
    array: Any = given
    if not hasattr(given, "dtype"):
        try:
            array = None if given is None else registry.current().arrays.asarray(given)
        except (GraftaxError, TypeError, ValueError):
            array = None
    if array is None or not any(word in str(array.dtype) for word in ("float", "int")):
        raise ArgumentTypeError(
            f"{subject} {describe_value(given)}",
            "a term of the loss is one real number; what gives None is often a function without a return",
            "ops.sum(...) or ops.mean(...) of real numbers",
        )
    if array.shape != ():
        raise ShapeError(
            f"{subject} {describe_value(array)}",
            "a term of the loss is one number, and whether several are to be added or averaged is not known",
            "ops.sum(...) or ops.mean(...) of it",
        )
    return registry.current().arrays.asarray(array)


def apply_constraint(variable: Any, value: Array) -> Array:
    """Return the value as the constraint of its variable projects it; as it is, where there is none.

    Raises:
        ArgumentTypeError: the constraint gave no array.
        ShapeError: the constraint gave another shape.
    """
    constraint = variable.constraint
    if constraint is None:
        return value
    out: Any = unwrap(constraint(value))
    if not hasattr(out, "shape") or not hasattr(out, "dtype"):
        raise ArgumentTypeError(
            f"the constraint {label_of(constraint)} of {variable._gx_path!r} gave "
            f"{describe_value(out)} for {describe_value(value)}",
            "it gives the projected weight; what gives None is often a function without a return",
            "def constraint(value): return ops.maximum(value, 0)",
        )
    if tuple(out.shape) != tuple(value.shape):
        raise ShapeError(
            f"the constraint {label_of(constraint)} of {variable._gx_path!r} gave "
            f"{describe_value(out)} for {describe_value(value)}",
            "a projected weight has the shape of the weight",
            "reductions with keepdims=True, and the weight times what they give",
        )
    return registry.current().arrays.asarray(out)
