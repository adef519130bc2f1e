"""What errors of JAX mean, in three beats; known by the name of their class and the words of their text."""

from __future__ import annotations

import re
from collections.abc import Callable

from graftax.backend.jax import foreign_sizes
from graftax.backend.rendezvous import AGAIN, process_group, why_lost
from graftax.core import user_line
from graftax.core.errors import (
    ArgumentTypeError,
    CompileError,
    GradientError,
    GraftaxError,
    ProcessError,
    StateError,
    TracerLeakError,
)
from graftax.core.foreign_errors import SHAPE, broadcast, contraction

NOTICE = "--------------------\nFor simplicity, JAX has removed its internal frames"


def translate(error: Exception) -> GraftaxError | None:
    """Return the error of graftax that says the same; None if there is none."""
    text = str(error)
    told = _BY_CLASS.get(type(error).__name__) if type(error).__module__.startswith("jax") else None
    if told is not None:
        return told(text)
    for pattern, made in _BY_TEXT:
        if (found := pattern.match(text)) is not None:
            return made(*found.groups())
    return None


# --- by class: decisions on traced values ----------------------------------------------------------------------------

_LENGTH = re.compile(r"= div \w+ -?[\d.]+:\w+\[\]\n[^\n]*\n\n  operation \w+:bool\[\] = eq \w+ 0\.0:")
"""What ``np.arange`` asks of a stop that is a free size: whether there are no steps up to it."""

_NO_VALUES = "while a function is compiled or mapped, its arrays have shapes but no values"
_DERIVATIVES = "while a function is differentiated, its arrays carry derivatives"
_FLOW = "graftax.cond or graftax.while_loop for control flow"


def _truth(text: str) -> GraftaxError:
    if _LENGTH.search(text):
        return foreign_sizes.integer()
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


def _is_differentiated(text: str) -> bool:
    """Tell whether a value of `jax.grad` or `jax.jvp` was converted: of others, JAX says where they come from."""
    return "while tracing the function" not in text and "Tracer with object id" not in text


def _array(text: str) -> CompileError:
    if _is_differentiated(text):
        return CompileError(
            "a NumPy array needs the values of a traced array",
            f"{_DERIVATIVES}, and NumPy computes without",
            "ops.* in place of np.*; np.asarray(ops.stop_gradient(x)) in eager code for values that pass no derivative",
        )
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
    if _is_differentiated(text):
        return CompileError(
            "float(), int(), complex(), .item() or .tolist() needs the value of a traced array",
            f"{_DERIVATIVES}, and a Python number has none",
            "in eager code `if x > 0:` as it is, ops.stop_gradient(x).item() for a number that passes no derivative, "
            "or graftax.GradientTape, in which float(x) works; in compiled code ops.where(condition, a, b) for a "
            f"choice of values, {_FLOW}",
        )
    return CompileError(
        "float(), int(), complex(), .item() or .tolist() needs the value of a traced array",
        _NO_VALUES,
        "return the array, and convert what the call gives back; ops.cast(x, dtype) for another dtype, "
        f"ops.where(condition, a, b) for a choice of values, {_FLOW}",
    )


def _leak(text: str) -> TracerLeakError:
    made = re.search(r"was created on line (\S+?):(\d+)(?::\d+)?\s+\((.*?)\)", text)
    line = f", made at {user_line.show_place((made[1], int(made[2])))}" if made else ""
    return TracerLeakError(
        f"a traced value was used after its trace had ended{line}",
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
    "InconclusiveDimensionOperation": foreign_sizes.decision,
}

# --- by text: shapes, and arrays that never change -------------------------------------------------------------------


def _immutable_error() -> ArgumentTypeError:
    return ArgumentTypeError(
        "an assignment to a part of an array, x[...] = ...",
        "arrays never change; Variables do",
        "x = x.at[index].set(value), or ops.where(condition, value, x); with a Variable, variable[index] = value",
    )


def _backwards() -> GradientError:
    return GradientError(
        "a gradient of a loop of plain JAX whose number of steps is not known before it runs",
        "the gradient needs the inputs of every step, and memory for them is reserved before the program runs",
        "graftax.while_loop(cond_fn, body_fn, init, maximum_iterations=100) or graftax.scan in place of the loops of "
        "jax.lax; graftax.jvp for a derivative forwards",
    )


def _format() -> CompileError:
    return CompileError(
        'a text with a format, as in f"{x:.3f}", needs the value of a traced array',
        _NO_VALUES,
        "return the array, and format what the call gives back; graftax.py_function(print, x) for a line of each run",
    )


def _slice() -> CompileError:
    return CompileError(
        "a slice x[start:stop] whose ends need the values of traced arrays",
        f"{_NO_VALUES}, and how many elements a slice takes must be known",
        "ends made of x.shape with //, as in x[:, : x.shape[1] // 2]; ops.take(x, start + ops.arange(8), "
        "axis=0) for so many elements from a place that is computed; ops.where(ops.arange(len(x)) < n, x, 0.0), which "
        "keeps the shape",
    )


def only_backwards() -> GradientError:
    """Return what a forward derivative of a function with a rule for its gradient means."""
    return GradientError(
        "a forward derivative (jvp) of a function that has a gradient of its own",
        "its rule goes backwards only",
        "graftax.jacobian, which goes backwards, or the function without custom_gradient",
    )


def _no_full_gradient() -> GradientError:
    return GradientError(
        "the gradient of ops.svd of matrices that are not square",
        "full_matrices=True, the default, adds vectors that the matrix does not determine",
        "ops.svd(x, full_matrices=False)",
    )


def _no_eigenvector_gradient() -> GradientError:
    return GradientError(
        "the gradient of ops.eig",
        "eigenvectors of a matrix that is not symmetric are determined up to a complex factor each",
        "ops.eigh(x) of a symmetric matrix, or ops.eig(ops.stop_gradient(x))",
    )


def lost_others_error(error: Exception) -> ProcessError | None:
    """Return the error for a computation that another process has left; None if it is another error."""
    told = _LOST.match(str(error))
    return None if told is None else _lost_others_error(*told.groups())


_LOST = re.compile(r"^\w+: (?s:.*?)\b(Gloo|NCCL|RCCL) (\w[\w -]*?) failed: (.*)")


def _lost_others_error(library: str, event: str, why: str) -> ProcessError | None:
    found = process_group()
    if found is None:
        return None
    return ProcessError(
        f"process {found.index()} lost the others in a computation: {library} {event}: {why[:200]}",
        why_lost(found),
        AGAIN,
    )


def _remote_values_error() -> StateError:
    return StateError(
        "the values of an array of which this process has a part only",
        "the others have the rest, and would have to take part at the same time",
        "distribution.gather(x) in all processes",
    )


def _no_array(kind: str) -> ArgumentTypeError:
    return ArgumentTypeError(
        f"an argument of type {kind.rpartition('.')[2]} that holds no numbers",
        "a compiled function takes arrays of numbers, and values that stay as they are",
        "numbers in place of texts: layer(texts) of a StringLookup or TextVectorization, before the call; "
        "x.shape[0] itself in place of np.array(x.shape[0]), where that size is free; ops.asarray(x) for another order "
        "of bytes, such as >f4",
    )


_BY_TEXT: list[tuple[re.Pattern[str], Callable[..., GraftaxError | None]]] = [
    (re.compile(rf"^(\w+) got incompatible shapes for broadcasting: {SHAPE}, {SHAPE}"), broadcast),
    (re.compile(rf"^(Incompatible shapes) for broadcasting: shapes=\[{SHAPE}, {SHAPE}\]$"), broadcast),
    (re.compile(rf"^dot_general requires contracting .* got {SHAPE} and {SHAPE}"), contraction),
    (re.compile("^JAX arrays are immutable"), _immutable_error),
    (_LOST, _lost_others_error),
    (re.compile("^Fetching value for `jax.Array` that spans non-addressable"), _remote_values_error),
    (re.compile(r"^Error interpreting argument to (?s:.*) of type <class '([\w.]+)'>"), _no_array),
    (re.compile("^can't apply forward-mode autodiff"), only_backwards),
    (re.compile("^Singular value decomposition JVP not implemented for full matrices"), _no_full_gradient),
    (re.compile("^Derivatives of non-symmetric eigenvectors"), _no_eigenvector_gradient),
    (re.compile("^Reverse-mode differentiation does not work for lax.while_loop"), _backwards),
    (re.compile("^(?:Slice entries must be static integers|Array slice indices must have static)"), _slice),
    (re.compile("^unsupported format string passed to \\w*Tracer"), _format),
    (re.compile("^expected a sequence of integers or a single integer, got '\\w*Tracer"), lambda: _integer("")),
    (re.compile(r"^unsupported operand type\(s\) for \*: '(?:list|tuple|str)' and '\w*Tracer'"), lambda: _integer("")),
    (re.compile("^(?s:Shapes must be 1D sequences of concrete values.*Tracer)"), lambda: _integer("")),
    (re.compile("^(?s:Non-hashable static arguments.*Tracer)"), lambda: _integer("")),
    (re.compile(rf"^Incompatible shapes for (matmul) arguments: {SHAPE} and {SHAPE}"), broadcast),
    *foreign_sizes.BY_TEXT,
]
