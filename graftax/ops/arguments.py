"""What arguments that are no arrays may be: axes, sizes, flags, modes, each by the kind that its row gives it."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from graftax.backend import registry
from graftax.core.enum_members import unwrap_member
from graftax.core.errors import ArgumentError, ArgumentTypeError, GraftaxError
from graftax.core.free_sizes import is_free
from graftax.core.hyperparameters import meant_number
from graftax.core.known_names import unknown
from graftax.core.later import import_later
from graftax.core.static_numbers import check_constant, check_known
from graftax.core.typedefs import VariableLike
from graftax.ops.foreign_keywords import suggest_value
from graftax.ops.parameter_kinds import Takes
from graftax.ops.signatures import Parameter

if TYPE_CHECKING:
    from graftax.core import foreign_errors
else:
    foreign_errors = import_later("graftax.core.foreign_errors")

_MOST = 2**31 - 1

Make = Callable[[Any], Any]


def quick_test(parameter: Parameter) -> str:
    """Return the Python test that most arguments pass at once, in which the argument stands by its name."""
    name, kind = parameter.name, parameter.kind
    least = kind.least
    if kind.takes == "number":
        test = f"type({name}) is float or type({name}) is int"
    elif kind.takes == "flag":
        test = f"type({name}) is bool"
    elif kind.takes == "integer":
        low = -_MOST if least is None else least
        test = f"type({name}) is int" + ("" if kind.axis else f" and {low} <= {name} <= {_MOST}")
    elif kind.takes == "real":
        test = f"type({name}) is float" + ("" if least is None else f" and {name} >= {least}")
    else:
        test = f"type({name}) is str" + (f" and {name} in {kind.words!r}" if kind.words else "")
    return f"{name} is None or {test}" if parameter.optional else test


def maker(op: str, parameter: Parameter) -> Make:
    """Return what arguments that fail the quick test go through: it gives what the op is to use, or raises.

    Args:
        op: The op, for messages.
        parameter: The parameter, which takes no array.
    """
    make: dict[Takes, Make] = {
        "number": partial(_check_number, op, parameter),
        "flag": partial(_flag, op, parameter),
        "integer": partial(_integers, op, parameter, parameter.kind.depth),
        "real": partial(_reals, op, parameter, parameter.kind.depth),
        "text": partial(_word, op, parameter),
    }
    return partial(_convert, make[parameter.kind.takes], parameter.optional)


def _convert(make: Make, optional: bool, value: object) -> Any:
    if value is None and optional:
        return None
    return make(value.value if isinstance(value, VariableLike) else value)


def _type_error(op: str, parameter: Parameter, value: object, wants: str, instead: str) -> ArgumentTypeError:
    shown = f"{value!r}"
    shown = shown if len(shown) < 60 else shown[:57] + "..."
    return ArgumentTypeError(f"{op}: {parameter.name} = {shown} of type {type(value).__name__}", wants, instead)


def _flag(op: str, parameter: Parameter, value: object) -> bool:
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    name = parameter.name
    raise _type_error(op, parameter, value, "it is a flag", f"{name}=True, or {name}=False")


def _integer(op: str, parameter: Parameter, value: Any) -> int:
    if not parameter.kind.axis and is_free(value):  # known when the exported program runs
        return value  # type: ignore[no-any-return]
    found = _index(op, parameter, value)
    name, least = parameter.name, parameter.kind.least
    if least is not None and found < least:
        raise ArgumentError(f"{op}: {name} = {found}", f"it is at least {least}", f"{name}={least}, or more")
    if abs(found) > _MOST:
        raise ArgumentError(f"{op}: {name} = {found}", "no array is that large", f"{name}={max(1, least or 1)}")
    return found


def _index(op: str, parameter: Parameter, value: Any) -> int:
    if isinstance(value, (bool, np.bool_)) or getattr(getattr(value, "dtype", None), "kind", "") == "b":
        example = f"{parameter.name}={_example(parameter)}"
        raise _type_error(op, parameter, value, "an integer is needed, not a flag", example)
    try:
        return operator.index(value)
    except TypeError as error:
        _raise_known(op, parameter, value, error)
        least = parameter.kind.least
        meant = meant_number(value, _example(parameter), lambda number: least is None or number >= least)
        raise _type_error(op, parameter, value, "an integer is needed", f"{parameter.name}={meant}") from None


def _example(parameter: Parameter) -> int:
    return -1 if parameter.kind.axis else 1


def _raise_known(op: str, parameter: Parameter, value: Any, error: Exception) -> None:
    """Raise what there is to say of a traced value."""
    check_known(f"ops.{op}: {parameter.name}", value)
    known: GraftaxError | None = foreign_errors.translate(error)
    if known is not None:
        shown = f"{value.dtype}{list(value.shape)}" if hasattr(value, "dtype") else value
        known.add_context(f"ops.{op}({parameter.name} {shown})")
        raise known from error


def _check_real(op: str, parameter: Parameter, value: Any) -> float:
    name, least = parameter.name, parameter.kind.least
    if isinstance(value, (bool, np.bool_, str, bytes)) or not hasattr(value, "__float__") or np.ndim(value):
        line = suggest_value(op, name, value) or _real_example(parameter, value)
        raise _type_error(op, parameter, value, "a number is needed", line)
    check_constant(f"ops.{op}: {name}", value)
    try:
        found = float(value)
    except TypeError as error:
        _raise_known(op, parameter, value, error)
        raise _type_error(op, parameter, value, "a number is needed", _real_example(parameter, value)) from None
    if least is not None and not found >= least:
        raise ArgumentError(f"{op}: {name} = {found}", f"it is a number of at least {least}", f"{name}=1.0")
    return found


def _real_example(parameter: Parameter, value: object) -> str:
    least = parameter.kind.least
    return f"{parameter.name}={meant_number(value, 1.0, lambda number: least is None or number >= least)}"


def _check_number(op: str, parameter: Parameter, value: Any) -> Any:
    """Return a number as it came: an array of NumPy keeps its dtype."""
    flags = parameter.kind.flags
    if is_free(value):
        return value
    if isinstance(value, (bool, np.bool_)) and not flags:
        raise _type_error(op, parameter, value, "a number is needed, not a flag", f"{parameter.name}=1.0")
    if isinstance(value, (complex, str, bytes)) or not hasattr(value, "__float__"):
        raise _type_error(op, parameter, value, "a number is needed", _real_example(parameter, value))
    if flags and hasattr(value, "shape"):
        return unwrap_member(_constant(op, parameter, value))
    if shape := getattr(value, "shape", ()):
        wants = f"one number is needed, and this has the shape {list(shape)}"
        each = f"ops.stack([ops.{op}(...) for one in numbers]) for each of several"
        raise _type_error(op, parameter, value, wants, f"{_real_example(parameter, value)}; {each}")
    return unwrap_member(value)


def _constant(op: str, parameter: Parameter, value: Any) -> Any:
    """Return the number in an array of no axes, which is a part of the program."""
    name, where = parameter.name, "ops.where(is_filled, numbers, x)"
    if value.shape:
        raise _type_error(
            op,
            parameter,
            value,
            f"one number fills all, and this has the shape {list(value.shape)}",
            f"{name}=1.0; for several numbers {where} afterwards",
        )
    if not isinstance(value, np.ndarray | np.generic) and not registry.current().arrays.is_concrete(value):
        raise ArgumentTypeError(
            f"{op}: {name} is computed in a compiled function, or has a gradient",
            "it is a part of the program, which is made before the number is known",
            f"{name}=1.0, a Python number; or {where} afterwards",
        )
    check_constant(f"ops.{op}: {name}", value)
    return np.asarray(value)[()]


def _word(op: str, parameter: Parameter, value: object) -> str:
    name, words = parameter.name, parameter.kind.words
    if not isinstance(value, str):
        example = f"{name}={words[0]!r}" if words else f"{name}='...'"
        raise _type_error(op, parameter, value, "a string is needed", example)
    if words and value not in words:
        error = unknown(name, value, words)
        error.add_context(f"ops.{op}({name}=...)")
        raise error
    return str.__str__(value)  # not the name of a member of an Enum


def _items(value: Any) -> list[Any] | None:
    """Return what is in a list, tuple, range or array; None if it is one thing."""
    if isinstance(value, (list, tuple, range)):
        return list(value)
    if getattr(value, "ndim", 0):
        return list(value)
    return None


def _integers(op: str, parameter: Parameter, depth: int, value: object) -> Any:
    items = _items(value) if depth > 0 else None
    if items is None:
        return _integer(op, parameter, value)
    return tuple(_integers(op, parameter, depth - 1, item) for item in items)


def _reals(op: str, parameter: Parameter, depth: int, value: object) -> Any:
    items = _items(value) if depth > 0 else None
    if items is None:
        return _check_real(op, parameter, value)
    return tuple(_reals(op, parameter, depth - 1, item) for item in items)
