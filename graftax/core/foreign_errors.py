"""What errors of JAX and NumPy mean, told in three beats with the user's own line.

They are known by the name of their class and the words of their text, so that nothing heavy is imported here. What is
not known stays as it is, with the user's line as a note.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable

from graftax.core import user_line
from graftax.core.broadcasting import INSTEAD, mismatch
from graftax.core.errors import (
    ArgumentTypeError,
    CompileError,
    GradientError,
    GraftaxError,
    ShapeError,
    TracerLeakError,
)


def translated(error: Exception) -> GraftaxError | None:
    """The error of graftax that says the same; None if there is none."""
    if isinstance(error, GraftaxError):
        return None
    told = _BY_CLASS.get(type(error).__name__) if type(error).__module__.startswith("jax") else None
    better = told(str(error)) if told is not None else _by_text(str(error))
    if better is not None:
        better.place = user_line.of_traceback(error.__traceback__) or better.place
    return better


def explained(error: Exception, where: str = "") -> GraftaxError | None:
    """The error to raise in place of one that was caught; None if it says enough itself, with what is added to it.

    Args:
        error: What was caught.
        where: What was going on, for example the layer and what it was called with.
    """
    told = error if isinstance(error, GraftaxError) else translated(error)
    if told is None:
        place = user_line.of_traceback(error.__traceback__) or user_line.of_stack(sys._getframe(1))
        if place is not None and not any(note.startswith("  at: ") for note in getattr(error, "__notes__", ())):
            error.add_note(f"  at: {user_line.shown(place)}")
        if where:
            error.add_note(f"  where: {where}")
    elif where:
        told.add_context(where)
    return None if told is error else told


# --- by class: decisions on traced values ----------------------------------------------------------------------------

_NO_VALUES = "while a function is compiled or mapped, its arrays have shapes but no values"
_FLOW = "graftax.cond or graftax.while_loop for control flow"


def _truth(text: str) -> CompileError:
    return CompileError(
        "if, while, and, or, not or bool() needs the value of a traced array",
        f"{_NO_VALUES}, and Python must decide now",
        f"ops.where(condition, a, b) for a choice of values, {_FLOW}; or leave this function uncompiled",
    )


def _integer(text: str) -> CompileError:
    return CompileError(
        "a Python integer (a size, the end of a range, an index of a list) needs the value of a traced array",
        _NO_VALUES,
        "a size from x.shape, or a number that is kept outside of the function or on a Module; graftax.scan or "
        "graftax.while_loop for a loop, ops.take to choose from an array, ops.where(condition, a, b) or graftax.cond "
        "to choose otherwise",
    )


def _array(text: str) -> CompileError:
    return CompileError(
        "a NumPy array needs the values of a traced array",
        f"{_NO_VALUES}, and NumPy computes at once",
        "ops.* in place of np.* (ops.where and graftax.cond in place of decisions); graftax.py_function for what only "
        "NumPy can do",
    )


def _mask(text: str) -> CompileError:
    return CompileError(
        "an index that is a mask needs the values of a traced array",
        f"{_NO_VALUES}, and how many elements a mask takes depends on values",
        "ops.where(mask, x, 0.0), which keeps the shape; graftax.cond for control flow",
    )


def _number(text: str) -> CompileError:
    if "argument of jnp" in text or "argument, which will determine" in text:
        return CompileError(
            "a result whose shape depends on values needs the values of a traced array",
            f"{_NO_VALUES}, and each result has one shape",
            "the function of jax.numpy with size=, such as jnp.unique(x, size=n); ops.where(mask, x, 0.0) in place of "
            "what a mask selects",
        )
    return CompileError(
        "float(), int(), complex(), .item() or .tolist() needs the value of a traced array",
        _NO_VALUES,
        "return the array, and convert what the call gives back; ops.cast(x, dtype) for another dtype, "
        f"ops.where(condition, a, b) for a choice of values, {_FLOW}",
    )


def _leak(text: str) -> TracerLeakError:
    made = re.search(r"was created on line (\S+?):(\d+)(?::\d+)?\s+\((.*?)\)", text)
    line = f", made at {user_line.shown((made[1], int(made[2])))}" if made else ""
    return TracerLeakError(
        f"a traced value of a trace that is over was used{line}",
        "it was kept outside of the function that was traced (in a list, an attribute, a global), or by a function of "
        "plain jax.jit that reads Variables",
        "return it from the function, or keep it in a Variable; in place of jax.jit, graftax.jit",
    )


_BY_CLASS: dict[str, Callable[[str], GraftaxError]] = {
    "TracerBoolConversionError": _truth,
    "TracerIntegerConversionError": _integer,
    "TracerArrayConversionError": _array,
    "NonConcreteBooleanIndexError": _mask,
    "ConcretizationTypeError": _number,
    "UnexpectedTracerError": _leak,
}

# --- by text: shapes, and arrays that never change -------------------------------------------------------------------

_SHAPE = r"(\([\d, ]*\))"


def _broadcast(op: str, left: str, right: str) -> ShapeError:
    a, b = ([int(size) for size in re.findall(r"\d+", shape)] for shape in (left, right))
    return ShapeError(f"{op}: {a} and {b}", mismatch(a, b) or "the two do not broadcast", INSTEAD)


def _contraction(left: str, right: str) -> ShapeError:
    a, b = (re.sub(r"[(), ]+", " ", shape).strip() for shape in (left, right))
    return ShapeError(
        f"a product of matrices that meet with {a} against {b}",
        "the last axis of the first and the second to last of the second must have one size",
        "ops.swapaxes(y, -1, -2) if the second is the wrong way round; ops.matmul names both shapes",
    )


def _immutable() -> ArgumentTypeError:
    return ArgumentTypeError(
        "an assignment to a part of an array, x[...] = ...",
        "arrays never change; Variables do",
        "x = x.at[index].set(value), or ops.where(condition, value, x); with a Variable, variable[index] = value",
    )


def _backwards() -> GradientError:
    return GradientError(
        "a gradient of a loop of plain JAX whose number of steps is not known before it runs",
        "going back needs what each step was computed from, and room for it is laid out before the program runs",
        "graftax.while_loop(cond_fn, body_fn, init, maximum_iterations=100) or graftax.scan in place of the loops of "
        "jax.lax; graftax.jvp for a derivative forwards",
    )


_BY_TEXT: list[tuple[re.Pattern[str], Callable[..., GraftaxError]]] = [
    (re.compile(rf"^(\w+) got incompatible shapes for broadcasting: {_SHAPE}, {_SHAPE}"), _broadcast),
    (re.compile(rf"^(Incompatible shapes) for broadcasting: shapes=\[{_SHAPE}, {_SHAPE}\]$"), _broadcast),
    (re.compile(rf"^operands could not be (broadcast) together with shapes {_SHAPE} {_SHAPE}"), _broadcast),
    (re.compile(rf"^dot_general requires contracting .* got {_SHAPE} and {_SHAPE}"), _contraction),
    (re.compile("^JAX arrays are immutable"), _immutable),
    (re.compile("^Reverse-mode differentiation does not work for lax.while_loop"), _backwards),
    (re.compile("^(?s:Shapes must be 1D sequences of concrete values.*Tracer)"), lambda: _integer("")),
    (re.compile("^(?s:Non-hashable static arguments.*Tracer)"), lambda: _integer("")),
]


def _by_text(text: str) -> GraftaxError | None:
    for pattern, told in _BY_TEXT:
        if (found := pattern.match(text)) is not None:
            return told(*found.groups())
    return None
