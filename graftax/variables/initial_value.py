"""What a Variable is made from: a value, a function that returns one, or a shape and an initializer."""

from __future__ import annotations

from typing import Any

from graftax.backend import registry
from graftax.core.errors import ArgumentError, CompileError
from graftax.core.typedefs import DTypeLike, Shape, unwrap
from graftax.core.user_functions import value_of
from graftax.variables import initializers
from graftax.variables.fitting import require_kept
from graftax.variables.spec import sizes
from graftax.variables.state.storage import concretely, first_value, tracer_of


def infer_spec(
    initial_value: object, shape: Shape | None, dtype: DTypeLike | None, initializer: object
) -> tuple[Shape, str, Any]:
    """Return the shape, the dtype and the initializer of a Variable, from what its constructor is given.

    Args:
        initial_value: A value, a function that returns one, or None.
        shape: Its shape, in place of a value or in agreement with it.
        dtype: Its dtype; None for that of the value.
        initializer: What makes the value, in place of one.

    Raises:
        ArgumentError: There is neither a value nor a shape, or both a value and an initializer, or they disagree.
        CompileError: The value is a traced one, and no argument of the compiled function.
    """
    arrays = registry.current().arrays
    if initial_value is None:
        if shape is None:
            raise ArgumentError(
                "Variable() got neither a value nor a shape",
                "there is nothing to make it from",
                'Variable([1.0, 2.0]), or Variable(shape=(3, 4), initializer="glorot_uniform")',
            )
        kind = arrays.canonical_dtype(dtype or "float32")
        return sizes(shape), kind, "glorot_uniform" if initializer is None else initializer
    if initializer is not None:
        raise ArgumentError(
            "Variable() got both a value and an initializer", "one of them would be ignored", "leave one out"
        )
    with concretely():
        value = unwrap(value_of("Variable", "initial_value", initial_value))
    if tracer_of(registry.current(), value):
        value = _at_the_first_call(value)
    with concretely():
        array = arrays.asarray(value, dtype)
        if dtype is not None:
            require_kept(arrays, value, array, f"Variable() of dtype {array.dtype}")
    if shape is not None and tuple(shape) != tuple(array.shape):
        raise ArgumentError(
            f"Variable() got a value of shape {tuple(array.shape)} and shape={tuple(shape)}",
            "they must agree",
            "leave shape out",
        )
    return tuple(array.shape), str(array.dtype), initializers.Constant(array)


def _at_the_first_call(tracer: Any) -> Any:
    value = first_value(tracer)
    if value is None or tracer_of(registry.current(), value):
        raise CompileError(
            f"Variable() got a traced array of shape {tuple(tracer.shape)} as its initial value",
            "it is made once, while the function is compiled, when arrays have no values yet; only an argument of the "
            "compiled function itself is known, as it is at the first call",
            "Variable(lambda: ops.zeros(3)) or Variable(shape=(3,), initializer=...); or make it outside",
        )
    return value
