"""The learning rate: a number kept in a Variable, a Variable, a schedule, or any function of the step."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from math import inf
from typing import Any, TypeAlias, cast

import numpy as np

from graftax.backend import registry
from graftax.core.dtypes import is_complex
from graftax.core.errors import ArgumentError, ArgumentTypeError, CompileError, ShapeError
from graftax.core.hyperparameters import meant_number
from graftax.core.typedefs import Array, VariableLike, unwrap
from graftax.core.user_functions import check_takes
from graftax.optimizers.engine.numbers import cast_to, widest_dtype
from graftax.optimizers.schedules.schedule import Schedule
from graftax.variables import initializers
from graftax.variables.graph.module import Module
from graftax.variables.spec import VariableSpec
from graftax.variables.state import storage
from graftax.variables.state.storage import frames
from graftax.variables.variable import Variable, make

LearningRate: TypeAlias = "float | Array | VariableLike | Callable[[Any], Any]"


def keep(owner: Module, before: object, rate: Any) -> Any:
    """Return what an optimizer keeps of a rate that it is given: a number goes into the Variable there, or a new one.

    Raises:
        ArgumentTypeError: a number is given while a schedule is in place; or it is neither a number nor a function.
        ArgumentError: the number, or the one that a Variable holds, is negative, infinite or nan.
        ShapeError: a Variable or an array holds more than one number.
    """
    number = isinstance(rate, int | float) and not isinstance(rate, bool)
    holder = isinstance(rate, VariableLike) or (hasattr(rate, "shape") and not isinstance(rate, Module))
    if isinstance(rate, type | bool) or not (number or callable(rate) or holder) or (holder and _holds_no_number(rate)):
        raise ArgumentTypeError(
            f"learning_rate={rate!r:.100}",
            "it is a number, a schedule, another function of the step, or a Variable",
            f"learning_rate={meant_number(rate, 1e-3, lambda number: number >= 0)}",
        )
    if isinstance(rate, np.floating | np.integer):
        rate = float(str(rate))  # 0.1 as written, not its float32
    if holder and tuple(getattr(rate, "shape", ())) != ():
        raise _no_scalar(getattr(rate, "shape", ()), rate)
    if not isinstance(rate, VariableLike) and (isinstance(rate, Module) or (callable(rate) and not holder)):
        if not isinstance(rate, Module) and not _has_no_parameters(rate):
            check_takes("the optimizer", "learning_rate", rate, ["step"])
        return rate  # a Module first: OneCycle has a `shape`, and is no array
    arrays, value = registry.current().arrays, unwrap(rate)
    given: Any = rate
    if holder and before is None and not isinstance(rate, VariableLike):
        _check_kept(rate)
    if holder and arrays.is_concrete(value):
        value = float(str(arrays.to_numpy(arrays.asarray(value))))
    if isinstance(value, int | float) and not 0 <= value < inf:
        raise ArgumentError(
            f"learning_rate={rate!r:.100}",
            "the rate is a finite number, 0 or more: a negative one would go up the gradient",
            "learning_rate=1e-3, and minus the loss to climb",
        )
    if isinstance(rate, VariableLike):
        return rate
    rate = value
    if isinstance(before, Variable):
        # the array itself where somebody may take a gradient of it
        source = given if frames.top is not None and arrays.is_array(given) else rate
        return before.assign(cast_to(arrays.asarray(source), before.dtype))
    if before is not None:
        raise ArgumentTypeError(
            f"learning_rate = {rate!r} while something else is in place: {before!r}",
            "it says what the rate is, and the number would be ignored",
            f"optimizer.learning_rate = graftax.optimizers.schedules.Constant({rate!r})",
        )
    made = scalar(owner, "learning_rate", "hyper", widest_dtype(), rate)
    if frames.top is not None and arrays.is_array(given) and frames.top.tracks(given):
        made.assign(cast_to(given, made.dtype))  # as the tape sees it
    return made


def _check_kept(rate: Any) -> None:
    """Raise for an array of a function that is compiled or differentiated.

    Raises:
        CompileError: an optimizer would keep an array that exists only while the function is traced.
    """
    arrays = registry.current().arrays
    if arrays.is_array(rate) and not arrays.is_concrete(rate):
        raise CompileError(
            f"an array of {rate.dtype} as learning_rate, of a function that is compiled, mapped or differentiated",
            "an optimizer keeps its rate as a number in a Variable of its own, and this array exists only in there",
            "optimizer = SGD(rate), where rate = graftax.Variable(0.1, trainable=False) from outside, and "
            'rate.assign(...); or values, state = optimizer.pure_update(gradients, {**state, "learning_rate": rate}, '
            "values), to which gradients pass",
        )


def _holds_no_number(holder: object) -> bool:
    dtype = str(getattr(holder, "dtype", "float32"))
    return dtype == "bool" or is_complex(dtype)


def current(rate: object, iterations: Array, dtype: str | None = None) -> Array:
    """Return the rate as a scalar of that dtype, in which a schedule is computed, too; by default the widest one.

    Raises:
        ShapeError: it is no scalar.
    """
    dtype = dtype or widest_dtype()
    found = registry.current().arrays.asarray(unwrap(_current_rate(rate, iterations, dtype)))
    if tuple(found.shape) != ():
        raise _no_scalar(found.shape, rate)
    return cast_to(found, dtype)


def _no_scalar(shape: Any, rate: Any) -> ShapeError:
    return ShapeError(
        f"a learning rate of shape {tuple(shape)} from {rate!r:.100}",
        "a learning rate is one number",
        'rules=[(selector, {"learning_rate_multiplier": 0.1})] for rates that differ by variable',
    )


def _current_rate(rate: Any, iterations: Array, dtype: str) -> Any:
    if isinstance(rate, VariableLike):
        return rate
    if isinstance(rate, Schedule):
        storage.touch(rate)  # which one with a __call__ of its own does not
        return rate(cast_to(iterations, dtype))
    if hasattr(rate, "shape") and not isinstance(rate, Module):
        return rate
    if isinstance(rate, Module) or not _has_no_parameters(rate):
        return cast(Any, rate)(iterations)
    found = rate()
    backend = registry.current()
    if isinstance(found, int | float) and backend.has("tracing") and not backend.tracing.eager():
        raise ArgumentTypeError(
            f"learning_rate={rate!r} gave the number {found!r} while a function is compiled",
            "later results would be ignored: a compiled step does not call it again",
            "keep the number in a Variable, and assign it; or a function of the step: lambda step: ...",
        )
    return found


def _has_no_parameters(function: Callable[..., Any]) -> bool:
    try:
        return not inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False


def scalar(owner: Module, name: str, role: str, dtype: str, value: Any) -> Variable:
    """Return a Variable of an optimizer that holds one number."""
    initializer = initializers.Constant(value)
    spec = VariableSpec(
        shape=(), dtype=dtype, initializer=initializer, trainable=False, role=role, name=name, path=name, owner=owner
    )
    return make(spec)
