"""From a row of the table to a function: a fast path for arrays, a slow one for everything else, errors in three beats.

`graftax.ops.source` writes the function; what it calls is here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from graftax.backend.protocol import Arrays, Backend
from graftax.backend.registry import current
from graftax.backend.traced_checks import probability_listeners
from graftax.core.dtypes import is_inexact
from graftax.core.enum_members import unwrap_member
from graftax.core.errors import ArgumentTypeError, DTypeError, GraftaxError
from graftax.core.free_sizes import is_free
from graftax.core.later import import_later
from graftax.core.masked_arrays import carry_over, entries
from graftax.core.typedefs import VariableLike
from graftax.core.wrapping import wraps
from graftax.ops import source
from graftax.ops.arguments import maker
from graftax.ops.checks import CHECKS, axis_in_range
from graftax.ops.functions import import_function
from graftax.ops.masked_results import with_mask, without_mask
from graftax.ops.numbers import INT32, NUMBERS, check_number, check_weak, is_in_range, refuse_kind
from graftax.ops.signatures import (
    NUMPY,
    Op,
    Parameter,
    array_parameters,
    format_parameters,
    parameters,
    settings,
    signature,
)
from graftax.ops.symbolic import MetSymbolic, Symbolic, record_op
from graftax.ops.table import KEYWORDS, OPS

if TYPE_CHECKING:
    from graftax.core import misbound
    from graftax.ops import explain, foreign_names
else:
    misbound = import_later("graftax.core.misbound")
    explain = import_later("graftax.ops.explain")
    foreign_names = import_later("graftax.ops.foreign_names")

_ATOMS = frozenset({int, str, float, complex, bool, type(None)})
_REAL = frozenset({bool, int, float})
_LITERALS = frozenset({*NUMBERS, list, tuple})
_GIVING_PROBABILITIES = frozenset({"sigmoid", "softmax"})
_ABSENT: Any = object()
_native: dict[Backend, set[type]] = {}  # the types that a backend has recognised as its arrays


@cache
def op_function(name: str) -> Callable[..., Any]:
    """Return the function of an op by its name, made when it is first asked for."""
    return build(OPS[name])


def build(op: Op) -> Callable[..., Any]:
    """Return the public function of a row."""
    function_of_row = import_function(op)  # first of all: its file has the checks of the op
    bindings: dict[Backend, Any] = {}
    space = {
        "bindings": bindings,
        "bind": partial(_bind, op, function_of_row, bindings),
        "current": current,
        "prepare": partial(_prepare, array_parameters(op)),
        "sequence": _sequence,
        "unwrapped": _unwrap,
        "frozen": _frozen,
        "atoms": _ATOMS,
        "literals": _LITERALS,
        "numbers": _REAL,
        "fits": is_in_range,
        "absent": _ABSENT,
        "axis_in_range": axis_in_range,
        "refuse_kind": refuse_kind,
        "masked": entries,
        "with_mask": with_mask,
        "without_mask": without_mask,
        "again": _call_with_aliases,
        "explain": _explain,
        "op": op,
        "__name__": "graftax.ops",
    }
    for one in settings(op):
        if one.kind.takes not in ("dtype", "structure"):
            space[f"make_{one.name}"] = maker(op.name, one)
    for one in parameters(op):
        if one.named:
            space[f"make_{one.name}"] = partial(_by_name, op.name, one)
    inner = source.run(op, source.write(op, checked=op.name in CHECKS), space)

    @wraps(inner)
    def function(*args: Any, **options: Any) -> Any:
        try:
            return inner(*args, **options)
        except MetSymbolic:
            pass  # what is raised below must not show it
        except TypeError as error:
            if misbound.is_binding_error(error):  # one argument by its place and by its name
                raise _given_twice(op, args, options) from None
            raise
        return record_op(op.name, function, args, options)

    origin = f"\n\nAs numpy.{op.name}." if op.home == NUMPY else ""
    function.__doc__ = op.doc + origin
    function.__annotations__ = {}
    function.__signature__ = signature(op)  # type: ignore[attr-defined]
    return function


def _explain(op: Op, error: Exception, arguments: dict[str, Any]) -> NoReturn:
    """Raise what a failure inside of the backend means."""
    explain.explain_failure(op, error, arguments)


def _given_twice(op: Op, args: tuple[Any, ...], options: dict[str, Any]) -> ArgumentTypeError:
    """Return the error for a call that Python itself cannot bind."""
    places = list(signature(op).parameters.values())
    twice = ", ".join(one.name for one, _ in zip(places, args, strict=False) if one.name in options)
    return ArgumentTypeError(
        f"{op.name}() got {twice} twice",
        f"by its place and by its name; its arguments are ({format_parameters(op)})",
        f"ops.{misbound.call_text(op.name, places)}",
    )


def _call_with_aliases(op: Op, arguments: dict[str, Any], function: Callable[..., Any]) -> Any:
    """Call an op whose arguments have second names with the first ones, or say what is wrong with them."""
    unknown, more = arguments.pop("unknown", {}), arguments.pop("more", ())
    names = [one.name for one in parameters(op)]
    if more:
        places = list(signature(op).parameters.values())
        count = sum(one.kind is one.POSITIONAL_OR_KEYWORD for one in places) + len(more)
        raise misbound.too_many(
            op.name, count, f"its arguments are ({format_parameters(op)})", f"ops.{misbound.call_text(op.name, places)}"
        )
    if unknown:
        second = KEYWORDS.get(op.name, {})
        defaults = {name: one.default for name, one in signature(op).parameters.items()}
        if all(name in second and arguments[second[name]] is defaults[second[name]] for name in unknown):
            return function(**{**arguments, **{second[name]: value for name, value in unknown.items()}})
        raise foreign_names.unknown_arguments_error(op.name, format_parameters(op), names, unknown)
    raise foreign_names.missing_arguments_error(
        op.name, format_parameters(op), [name for name in names if arguments[name] is _ABSENT]
    )


def _bind(
    op: Op, function: Callable[..., Any] | None, bindings: dict[Backend, Any]
) -> tuple[set[type], Callable[..., Any], Callable[..., str], Any]:
    """Look an op up in the backend in charge, once."""
    backend = current()
    arrays = backend.arrays
    target: Callable[..., Any] = partial(function, arrays) if function else getattr(arrays.numpy, op.name)
    if op.fused:
        static = tuple(one.name for one in parameters(op) if not one.takes_arrays)
        target = arrays.fuse(target, static)
    if op.name in _GIVING_PROBABILITIES:
        target = _tell_listeners(op.name, target)
    native = _native.setdefault(backend, set())
    check = partial(CHECKS[op.name], arrays) if op.name in CHECKS else None
    bindings[backend] = native, target, arrays.canonical_dtype, check
    return bindings[backend]  # type: ignore[no-any-return]


def _tell_listeners(op: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function of an op, such that who listens hears of each result."""
    read = probability_listeners.read

    def run(*args: Any, **options: Any) -> Any:
        out = function(*args, **options)
        if listening := read():
            listening[-1](op, out)
        return out

    return run


def _by_name(op: str, parameter: Parameter, keywords: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Return what keywords gathered as pairs, which compiled functions can look up."""
    return tuple((name, maker(op, replace(parameter, name=name))(value)) for name, value in keywords.items())


def to_array(arrays: Arrays, value: object, op: str, argument: str) -> Any:
    """Return a native array of anything that can be one.

    Raises:
        ArgumentTypeError: it cannot; names the op and the argument.
    """
    while isinstance(value, VariableLike):
        value = value.value
    if isinstance(value, Symbolic):
        raise MetSymbolic
    if arrays.is_array(value):
        _native.setdefault(current(), set()).add(type(value))
        return value
    if not isinstance(value, (*NUMBERS, list, tuple)) and not hasattr(value, "__array__") and not is_free(value):
        raise _no_array(op, argument, value)
    try:
        return arrays.asarray(_unwrap(value))
    except GraftaxError as error:
        error.add_context(f"{op}({argument}=...)")
        raise
    except TypeError:
        raise _no_array(op, argument, value) from None


def _no_array(op: str, argument: str, value: object) -> ArgumentTypeError:
    shown = f"{value!r}"
    return ArgumentTypeError(
        f"{op}: {argument} = {shown if len(shown) < 60 else shown[:57] + '...'} of type {type(value).__name__}",
        "it is no array and cannot be made one",
        f"pass an array, a Variable, a number or a list of numbers as {argument!r}",
    )


def _unwrap(value: Any) -> Any:
    """Put values in place of Variables, inside lists too."""
    while isinstance(value, VariableLike):
        value = value.value
    if isinstance(value, Symbolic):
        raise MetSymbolic
    if type(value) in (list, tuple):
        return [_unwrap(item) for item in value]
    return value


def _prepare(parameters: tuple[Parameter, ...], op: Op, values: tuple[Any, ...]) -> list[Any]:
    """Make native arrays of the arguments, compare dtypes, and leave Python numbers to adapt where the op lets them."""
    arrays = current().arrays
    ready: list[Any] = []
    numbers = 0
    for one, value in zip(parameters, values, strict=True):
        if value is None and one.optional:
            ready.append(None)
        elif op.weak and one.kind.agrees and (number := _as_number(value)) is not None:
            ready.append(number)
            numbers += 1
        else:
            if one.kind.casts and isinstance(value, VariableLike):
                value = value._gx_unrounded
            ready.append(to_array(arrays, value, op.name, one.name))
            if entries and ready[-1] is not value:
                carry_over(value, ready[-1])
    agreeing = [i for i, one in enumerate(parameters) if one.kind.agrees and ready[i] is not None]
    if numbers and numbers == len(agreeing):  # nothing but Python numbers: the widest kind decides
        kind = max((type(ready[i]) for i in agreeing), key=NUMBERS.index)
        ready[agreeing[0]] = arrays.asarray(kind(ready[agreeing[0]]))
    found = [i for i in agreeing if not isinstance(ready[i], NUMBERS)]
    if len(found) > 1:
        _compare(arrays, op.name, [parameters[i].name for i in found], [ready[i] for i in found])
    if found and len(agreeing) > 1:
        keeps = any(one.kind.fills for one in parameters)
        _meet(arrays, op.name, [(parameters[i].name, ready[i]) for i in agreeing], keeps)
        for i in agreeing:
            if type(ready[i]) is int and ready[i] > INT32:
                ready[i] = arrays.asarray(ready[i], ready[found[0]].dtype)
    return ready


def _meet(arrays: Arrays, op: str, operands: list[tuple[str, Any]], keeps: bool) -> None:
    """Refuse Python numbers, and arrays that such a number became, that do not fit the arrays that they meet."""
    strong = [one for one in operands if not isinstance(one[1], NUMBERS) and not arrays.is_weak(one[1])]
    arrays_given = [one for one in operands if not isinstance(one[1], NUMBERS)]
    other, array = (strong or arrays_given)[0]
    dtype = arrays.canonical_dtype(array.dtype)
    for name, value in operands:
        if isinstance(value, NUMBERS):
            check_number(arrays, op, name, value, other, dtype, keeps)
        elif strong and arrays.is_weak(value):
            check_weak(arrays, op, name, value, other, dtype)


def _as_number(value: Any) -> bool | int | float | complex | None:
    """Return a Python number, or a NumPy scalar of the types that Python numbers become, as a number; else None."""
    value = unwrap_member(value)
    if type(value) in NUMBERS:
        return value  # type: ignore[no-any-return]
    if getattr(value, "shape", None) == () and type(value).__name__ in ("float64", "int64", "bool", "complex128"):
        return value.item() if type(value).__module__ == "numpy" else None
    return None


def _compare(arrays: Arrays, op: str, names: list[str], values: list[Any]) -> None:
    dtypes = [arrays.canonical_dtype(value.dtype) for value in values]
    if len(set(dtypes)) == 1:
        return
    strong = [(n, v, d) for n, v, d in zip(names, values, dtypes, strict=True) if not arrays.is_weak(v)]
    if len({dtype for _, _, dtype in strong}) <= 1:
        return
    (first, _, wanted), (other, _, dtype) = strong[0], next(item for item in strong if item[2] != strong[0][2])
    shown = ", ".join(f"{n} {d}{list(v.shape)}" for n, v, d in strong)
    if {wanted, dtype} & {"bool"} or _width(dtype) > _width(wanted):
        first, other, wanted = other, first, dtype
    raise DTypeError(
        f"{op}: {shown}",
        "two arrays of different dtypes are never promoted silently",
        f'ops.cast({other}, "{wanted}")',
    )


def _width(dtype: str) -> tuple[bool, str]:
    return is_inexact(dtype), dtype[-2:]


def _sequence(op: Op, name: str, values: Any, agree: bool) -> list[Any]:
    """Make native arrays of a list or tuple of arrays, of one dtype where they must agree."""
    if isinstance(values, VariableLike) or not isinstance(values, (list, tuple)):
        if not hasattr(values, "__iter__") or isinstance(values, (str, dict)):
            raise _no_array(op.name, name, values)
        values = list(_unwrap(values))
    arrays = current().arrays
    ready = [to_array(arrays, value, op.name, f"{name}[{i}]") for i, value in enumerate(values)]
    if len(ready) > 1 and agree:
        first = ready[0].dtype
        if any(value.dtype != first for value in ready):
            _compare(arrays, op.name, [f"{name}[{i}]" for i in range(len(ready))], ready)
    return ready


def _frozen(value: object) -> Any:
    """Make tuples of lists and arrays of numbers: compiled functions can look these up."""
    if isinstance(value, (list, tuple)):
        return tuple(map(_frozen, value))
    return _frozen(value.tolist()) if isinstance(value, (np.ndarray, np.generic)) else value
