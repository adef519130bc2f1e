"""What arguments that are no arrays may be: axes, sizes, flags, modes, each by the type that its row gives it."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from graftax.core import foreign_errors
from graftax.core.errors import ArgumentError, ArgumentTypeError, GraftaxError
from graftax.core.known_names import unknown
from graftax.core.typedefs import VariableLike

LEAST = {
    **dict.fromkeys("num num_classes num_segments rows columns length repeats reps pad_width".split(), 0),
    **dict.fromkeys("n groups strides window dilation".split(), 1),
    **dict.fromkeys("shape epsilon rtol atol ddof".split(), 0),
}
"""The smallest value of a parameter; of each number in it, where it may hold several."""

CHOICES = {"indexing": ("xy", "ij"), "side": ("left", "right")}
"""The words that a parameter may be."""

TRACED = frozenset({"start", "stop", "step", "constant_values"})
"""Numbers whose dtype counts, or that a compiled function may compute."""

_MOST = 2**31 - 1

Make = Callable[[Any], Any]


def maker(op: str, name: str, kind: str, default: Any) -> tuple[str, Make]:
    """How an argument is checked: the Python test that most arguments pass at once, and what the others go through.

    Args:
        op: The op, for messages.
        name: The parameter.
        kind: Its type, as the stub has it.
        default: Its default, which always passes.

    Returns:
        An expression in which the argument stands by its name, and a function that gives what the op is to use, or
        raises.
    """
    optional = kind.endswith("| None")
    bare = kind.removesuffix("| None").strip()
    least = LEAST.get(name)
    if op == "reshape" and name == "shape":
        least = -1
    tests = [f"{name} is None"] if optional else []
    make: Make
    if name in TRACED:
        tests.append(f"type({name}) is float or type({name}) is int")
        make = partial(_numeric, op, name, name == "constant_values")
    elif bare == "bool":
        tests.append(f"type({name}) is bool")
        make = partial(_flag, op, name)
    elif bare == "int":
        low = -_MOST if least is None else least
        tests.append(f"type({name}) is int" + ("" if "ax" in name else f" and {low} <= {name} <= {_MOST}"))
        make = partial(_integer, op, name, least)
    elif bare == "float":
        tests.append(f"type({name}) is float" + ("" if least is None else f" and {name} >= {least}"))
        make = partial(_number, op, name, least)
    elif bare == "str":
        words = CHOICES.get(name)
        tests.append(f"type({name}) is str" if words is None else f"type({name}) is str and {name} in {words!r}")
        make = partial(_word, op, name, words)
    elif bare.startswith("int"):
        low = -_MOST if least is None else least
        tests.append(f"type({name}) is int" + ("" if "ax" in name else f" and {low} <= {name} <= {_MOST}"))
        make = partial(_integers, op, name, least, 2 if "Sequence[Sequence" in bare else 1)
    elif bare.startswith("float"):
        tests.append(f"type({name}) is float")
        make = partial(_numbers, op, name, 1)
    else:
        return "True", lambda value: value
    return " or ".join(tests), partial(_or_default, make, default, optional)


def _or_default(make: Make, default: Any, optional: bool, value: Any) -> Any:
    if value is None and optional:
        return None
    return make(value.value if isinstance(value, VariableLike) else value)


def _refused(op: str, name: str, value: Any, wants: str, instead: str) -> ArgumentTypeError:
    shown = repr(value)
    shown = shown if len(shown) < 60 else shown[:57] + "..."
    return ArgumentTypeError(f"{op}: {name} = {shown} of type {type(value).__name__}", wants, instead)


def _flag(op: str, name: str, value: Any) -> bool:
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise _refused(op, name, value, "it is a flag", f"{name}=True, or {name}=False")


def _integer(op: str, name: str, least: int | None, value: Any) -> int:
    found = _index(op, name, value)
    if least is not None and found < least:
        raise ArgumentError(f"{op}: {name} = {found}", f"it is at least {least}", f"{name}={least}, or more")
    if abs(found) > _MOST:
        raise ArgumentError(f"{op}: {name} = {found}", "no array is that large", f"{name}={max(1, least or 1)}")
    return found


def _index(op: str, name: str, value: Any) -> int:
    example = f"{name}=-1" if "axis" in name else f"{name}={max(1, LEAST.get(name, 1))}"
    if isinstance(value, (bool, np.bool_)) or getattr(getattr(value, "dtype", None), "kind", "") == "b":
        raise _refused(op, name, value, "an integer is needed, not a flag", example)
    try:
        return operator.index(value)
    except TypeError as error:
        _raise_known(op, name, value, error)
        raise _refused(op, name, value, "an integer is needed", example) from None


def _raise_known(op: str, name: str, value: Any, error: Exception) -> None:
    """Raise what JAX has to say of a traced value, in our words."""
    known: GraftaxError | None = foreign_errors.translated(error)
    if known is not None:
        known.add_context(f"ops.{op}({name} {value.dtype}{list(value.shape)})")
        raise known from error


def _number(op: str, name: str, least: float | None, value: Any) -> float:
    example = f"{name}=1.0"
    if isinstance(value, (bool, np.bool_, str, bytes)) or not hasattr(value, "__float__") or np.ndim(value):
        raise _refused(op, name, value, "a number is needed", example)
    try:
        found = float(value)
    except TypeError as error:
        _raise_known(op, name, value, error)
        raise _refused(op, name, value, "a number is needed", example) from None
    if least is not None and not found >= least:
        raise ArgumentError(f"{op}: {name} = {found}", f"it is a number of at least {least}", example)
    return found


def _numeric(op: str, name: str, flags: bool, value: Any) -> Any:
    """A number, as it came: an array of NumPy keeps its dtype."""
    if isinstance(value, (bool, np.bool_)) and not flags:
        raise _refused(op, name, value, "a number is needed, not a flag", f"{name}=1.0")
    if isinstance(value, (complex, str, bytes)) or not hasattr(value, "__float__") or (flags and np.ndim(value)):
        raise _refused(op, name, value, "a number is needed", f"{name}=1.0")
    return value


def _word(op: str, name: str, words: tuple[str, ...] | None, value: Any) -> str:
    if not isinstance(value, str):
        example = f"{name}={words[0]!r}" if words else f"{name}='...'"
        raise _refused(op, name, value, "a string is needed", example)
    if words is not None and value not in words:
        error = unknown(name, value, words)
        error.add_context(f"ops.{op}({name}=...)")
        raise error
    return str(value)


def _items(value: Any) -> list[Any] | None:
    """What is in a list, tuple, range or array; None if it is one thing."""
    if isinstance(value, (list, tuple, range)):
        return list(value)
    if getattr(value, "ndim", 0):
        return list(value)
    return None


def _integers(op: str, name: str, least: int | None, depth: int, value: Any) -> Any:
    items = _items(value) if depth > 0 else None
    if items is None:
        return _integer(op, name, least, value)
    return tuple(_integers(op, name, least, depth - 1, item) for item in items)


def _numbers(op: str, name: str, depth: int, value: Any) -> Any:
    items = _items(value) if depth > 0 else None
    if items is None:
        return _number(op, name, None, value)
    return tuple(_numbers(op, name, depth - 1, item) for item in items)
