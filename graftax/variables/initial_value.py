"""What a Variable starts with: found in what its constructor is given, and made as an array of its backend."""

from __future__ import annotations

import math
from typing import Any, cast

from graftax.backend import registry
from graftax.backend.protocol import Backend
from graftax.core.errors import ArgumentError, CompileError
from graftax.core.ours import is_ours
from graftax.core.typedefs import Array, DTypeLike, Initializer, Shape, unwrap
from graftax.core.user_functions import value_of
from graftax.variables import initializers
from graftax.variables.base_initializer import BaseInitializer
from graftax.variables.fitting import require_kept
from graftax.variables.given_back import initial_value as as_given_back
from graftax.variables.keys import variable_key
from graftax.variables.spec import VariableSpec, sizes
from graftax.variables.spread_draws import SpreadDraws
from graftax.variables.state.home import Home
from graftax.variables.state.storage import concretely, first_value, tracer_of

_LARGE = 2**20


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


def make_buffer(spec: VariableSpec, initializer: Initializer, backend: Backend, home: Home | None = None) -> Array:
    """Return what a Variable starts as, where it is to lie."""
    with concretely():
        key: Any = None
        if getattr(initializer, "draws", True):  # zeros need no key, and must not shift the draws of others
            key = variable_key(spec.owner, spec.path, getattr(initializer, "seed", None), initializer)
        spread = home is not None and _holds_a_part(initializer)  # no process could have it on its host
        drawing = backend if spread else _drawing_backend(spec, backend)
        if home is not None and drawing is backend and not spread:
            if _is_constant(initializer):
                return backend.meshes.make(lambda: initializer(key, spec.shape, spec.dtype), home.stored)
            drawing = cast(Backend, SpreadDraws(backend, spec.shape, home.stored))
        with registry.scope(drawing):
            made = initializer(key, spec.shape, spec.dtype)
        buffer = as_given_back(initializer, made, spec.shape, spec.dtype, spec.path, backend)
        if backend.arrays.is_weak(buffer):  # else the first assignment would change the type, and compile again
            buffer = buffer.astype(spec.dtype)
        return buffer if home is None else backend.meshes.place(buffer, home.stored)


def _is_constant(initializer: Initializer) -> bool:
    """Tell whether it gives one number everywhere, and no array that somebody has."""
    if not isinstance(initializer, BaseInitializer) or initializer.draws:
        return False
    return is_ours(type(initializer)) and not any(
        getattr(setting, "shape", ()) for setting in vars(initializer).values()
    )


def _holds_a_part(initializer: Initializer) -> bool:
    """Tell whether it gives an array of which other processes have a part, as the value of a weight that is grafted."""
    if not isinstance(initializer, BaseInitializer) or initializer.draws:
        return False
    return not all(getattr(setting, "is_fully_addressable", True) for setting in vars(initializer).values())


def _drawing_backend(spec: VariableSpec, backend: Backend) -> Backend:
    """Return where the initial value is computed: on the host, which compiles nothing, unless that would take longer.

    For a million numbers NumPy took 0.1 to 0.2 seconds, a first draw of that shape by XLA 0.3 to 0.4; for four million
    0.8 to 1.1 against 0.3 to 0.5 (two CPU cores). The bits are the same.
    """
    narrow = not spec.dtype.endswith(("64", "128"))
    return registry.load("numpy") if narrow and math.prod(spec.shape) <= _LARGE else backend
