"""Finding bad numbers: checks of one's own, eager and compiled, and the search for where a nan comes from."""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from graftax import ops
from graftax.backend import registry, traced_checks
from graftax.core.culprit import Culprit
from graftax.core.dtypes import is_complex, is_inexact
from graftax.core.errors import ArgumentError, ArgumentTypeError, CheckError, DTypeError, NumericsError, StateError
from graftax.core.short_traceback import door, not_taken
from graftax.core.typedefs import Array, ArrayLike, unwrap
from graftax.transforms.compile.compiled_function import CompiledFunction
from graftax.variables.state.storage import frames


@door
def check(condition: ArrayLike, message: str, /, **values: ArrayLike) -> None:
    """Raise unless the condition holds, everywhere if it is an array.

    Eagerly at once; in a function compiled with ``checked=True`` after it has run, from inside of loops, branches and
    gradients, too, and then no Variable has changed. In a function compiled without, it costs nothing and does nothing.

    Args:
        condition: A truth value, or an array of them.
        message: What is wrong, with a ``{name}`` for each value; a format (``{name:.3f}``) is that of each number.
        values: Numbers to show.

    Raises:
        CheckError: the condition does not hold.
        DTypeError: the condition is no truth value.
        ArgumentError: the message names a value that is not given, leaves one out, or has a format that its numbers
            do not have.

    Example:
        >>> import graftax as gx
        >>> @gx.jit(checked=True)
        ... def shrink(x):
        ...     check(x > 0, "x is to be positive, not {x}", x=x)
        ...     return x / 2
        >>> float(shrink(3.0))
        1.5
        >>> shrink(-3.0)
        Traceback (most recent call last):
        ...
        graftax.errors.CheckError: x is to be positive, not -3.0
          at: ...
    """
    if not isinstance(message, str):
        raise ArgumentTypeError(f"check got the message {message!r}", "it is a text", 'gx.check(x > 0, "x is wrong")')
    asked = {field for _, field, _, _ in string.Formatter().parse(message) if field is not None}
    if asked != set(values):
        raise ArgumentError(
            f"check got the values {sorted(values)}, and a message that shows {sorted(asked)}",
            "all that is given is shown, and all that is shown is given",
            'gx.check(x > 0, "x is {x}", x=x)',
        )
    arrays = registry.current().arrays
    _check_formats(message, values)
    holds: Any = arrays.asarray(unwrap(condition))
    if str(holds.dtype) != "bool":
        raise DTypeError(f"check got a condition of dtype {holds.dtype}", "it is a truth value", "x > 0, or x != 0")
    if arrays.is_concrete(holds):
        if not bool(arrays.numpy.all(holds)):
            raise _check_error(message, tuple(values), *(unwrap(value) for value in values.values()))
    elif not traced_checks.leave_out(f"check: {message}") and traced_checks.is_checking():
        shown = [arrays.asarray(unwrap(value)) for value in values.values()]
        explain = partial(_check_error, message, tuple(values))
        traced_checks.emit(explain, arrays.numpy.logical_not(arrays.numpy.all(holds)), *shown)


def _check_error(message: str, names: tuple[str, ...], *values: Any) -> CheckError:
    shown = {name: _summarize(value) for name, value in zip(names, values, strict=True)}
    return CheckError(message.format(**shown))


def _check_formats(message: str, values: Mapping[str, ArrayLike]) -> None:
    """Raise for a format that the numbers do not have: when the check fails it would be in the way of the message."""
    for _, name, spec, conversion in string.Formatter().parse(message):
        if not name or not spec:
            continue
        dtype = str(registry.current().arrays.asarray(unwrap(values[name])).dtype)
        number = 1j if is_complex(dtype) else 0.5 if is_inexact(dtype) else (True if dtype == "bool" else 1)
        try:
            format("" if conversion else number, spec)
        except ValueError as error:
            raise ArgumentError(
                f"check got a message that shows {name}, of dtype {dtype}, as {{{name}:{spec}}}",
                f"Python cannot: {error}",
                f"{{{name}}}",
            ) from error


class _Shown:
    """An array in a message: a format is that of each number."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self._array = array

    def __format__(self, spec: str) -> str:
        each: Any = {"all": lambda one: format(one.item(), spec)} if spec else None
        return np.array2string(self._array, threshold=8, separator=", ", formatter=each)

    def __str__(self) -> str:
        return format(self, "")

    def __repr__(self) -> str:
        return format(self, "")


def _summarize(value: object) -> Any:
    if isinstance(value, (bool, int, float, complex)):
        return value
    array = np.asarray(value)
    return _Shown(array) if array.ndim else array.item()


@door
def check_numerics(x: ArrayLike, message: str = "") -> Array:
    """Return ``x`` if all of it is finite; raise otherwise.

    Eagerly it raises at once. A compiled function that has it raises after it has run, whether it was compiled with
    ``checked=True`` or not: it then keeps the memory of its Variables, and waits for each run to end.

    Args:
        x: A floating array.
        message: What to say of it. Defaults to the name of this function.

    Raises:
        NumericsError: there is a nan or an infinity.
        DTypeError: ``x`` has no floating numbers.
        StateError: inside a function that plain JAX compiles.

    Shape:
        ``(...) -> (...)``

    Example:
        >>> import graftax as gx
        >>> check_numerics(gx.ops.log([1.0, -1.0]), "the logarithm of the odds")
        Traceback (most recent call last):
        ...
        graftax.errors.NumericsError: the logarithm of the odds: float32[2] with 1 nan and 0 inf, x[1] = nan first
          at: ...
    """
    backend = registry.current()
    if not isinstance(message, str):
        raise ArgumentTypeError(f"check_numerics got the message {message!r:.60}", "it is a text", 'message="the loss"')
    array: Any = ops.asarray(x)
    if not is_inexact(array.dtype):
        raise DTypeError(
            f"check_numerics got dtype {array.dtype}", "integers and truth values are finite always", "no check"
        )
    if backend.arrays.is_concrete(array):
        if (error := _not_finite(message, backend.arrays.to_numpy(array))) is not None:
            raise error
    elif not traced_checks.leave_out(f"check_numerics{message and ': '}{message}"):
        traced_checks.require_compiled("check_numerics")
        numpy = backend.arrays.numpy
        bad = numpy.logical_not(numpy.all(numpy.isfinite(array)))
        traced_checks.emit(partial(_not_finite, message), bad, array)
    return array  # type: ignore[no-any-return]


def _not_finite(message: str, host: np.ndarray[Any, Any]) -> NumericsError | None:
    bad = ~np.isfinite(host)
    if not bad.any():
        return None
    place = tuple(int(i) for i in np.argwhere(bad)[0])
    first = f"x[{', '.join(map(str, place))}]" if place else "x"
    nans = int(np.isnan(host).sum())
    found = f"{nans} nan and {int(bad.sum()) - nans} inf, {first} = {host[place]} first"
    return NumericsError(
        f"{message or 'check_numerics'}: {host.dtype}{list(host.shape)} with {found}",
        "all numbers are to be finite here",
        "graftax.find_nan(fn, *args) tells which operation made it",
    )


@door
def find_nan(fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Culprit | None:
    """Find where the first nan (or infinity) in the results of ``fn(*args)``, or in what it assigns, comes from.

    The function is traced as by `graftax.jit` and run one operation after another, gradients included, on the present
    Variables; no Variable changes. That is slow: it is for the one step that went wrong.

    Args:
        fn: A step, plain or compiled by `graftax.jit`.
        args: Its arguments.
        kwargs: Its arguments by name.

    Returns:
        The `Culprit`: layer, operation, line, forward or backward, what went in. None if all is finite.

    Raises:
        ArgumentTypeError: ``fn`` is no function.
        StateError: inside of a function that is compiled or differentiated.

    Example:
        >>> import graftax as gx
        >>> w = gx.Variable([1.0, 0.0])
        >>> step = gx.jit(lambda x: gx.grad(lambda: gx.ops.sum(gx.ops.sqrt(w) * x), wrt=w)())
        >>> culprit = find_nan(step, gx.ops.asarray([1.0, 0.0]))
        >>> culprit.kind, culprit.backward, w.numpy().tolist()
        ('nan', True, [1.0, 0.0])
    """
    if not callable(fn):
        raise ArgumentTypeError(f"find_nan got {type(fn).__name__}", "it runs a function", "gx.find_nan(step, batch)")
    if frames.top is not None:
        raise StateError(
            "find_nan inside of a function that is compiled or differentiated",
            "there the values of arguments and Variables are not at hand",
            "gx.find_nan(step, batch) outside, in place of step(batch)",
        )
    compiled: CompiledFunction[..., Any] = fn if isinstance(fn, CompiledFunction) else CompiledFunction(fn, None, True)
    try:
        entry, leaves, names = compiled.trace_arguments(*args, **kwargs)
    except TypeError as error:
        raise not_taken(error, fn, args, kwargs) or error from None
    donated, read_only = ([storage.buffer for storage in storages] for storages in (entry.donated, entry.read_only))
    return entry.program.culprit(donated, read_only, leaves, names)
