"""Functions that users hand over: told, before they are called, where they cannot take what they are given."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from types import FunctionType, MethodType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from graftax.core.errors import ArgumentTypeError


class Misfit(NamedTuple):
    """A function that cannot be called with what it would be given."""

    shown: str
    """Its name and its parameters."""
    reason: str
    """What is missing, or too much."""


def misfit(fn: Any, count: int, named: Sequence[str] = ()) -> Misfit | None:
    """Return why a function cannot be called with so many arguments; None where it can, or tells no signature.

    Args:
        fn: What is to be called.
        count: How many arguments it gets by position.
        named: The names of those that it gets by name. Defaults to none.

    Example:
        >>> misfit(lambda carry, x: carry, 1)
        Misfit(shown='<lambda>(carry, x)', reason="missing a required argument: 'x'")
        >>> print(misfit(lambda carry, x=None: carry, 1))
        None
    """
    if not named and _fits_at_a_glance(fn, count):
        return None
    try:
        # what a decorator gives takes what it says itself, and not what the function below it does
        signature = inspect.signature(fn, follow_wrapped=not isinstance(fn, FunctionType))
    except (TypeError, ValueError):
        return None
    try:
        signature.bind(*[None] * count, **dict.fromkeys(named))
    except TypeError as error:
        bare = [one.replace(annotation=one.empty) for one in signature.parameters.values()]
        return Misfit(f"{_name(fn)}{inspect.Signature(bare)}", str(error))
    return None


def check_takes(caller: str, parameter: str, fn: Any, arguments: Sequence[str], instead: str = "") -> None:
    """Raise unless a function can be called with as many arguments as it gets.

    Args:
        caller: Who got it, for the message.
        parameter: As what.
        fn: The function.
        arguments: The names of these arguments, for the message.
        instead: The line to write. Defaults to a function of such arguments.

    Raises:
        ArgumentTypeError: it takes more or fewer.

    Example:
        >>> check_takes("while_loop", "body_fn", lambda n: n + 1, ["carry"])
    """
    found = misfit(fn, len(arguments))
    if found is not None:
        names = ", ".join(arguments)
        gets = f"it is called with ({names})" if arguments else "it is called without arguments"
        raise ArgumentTypeError(
            f"{caller} got {parameter}={found.shown}",
            f"{gets}: {found.reason}",
            instead or f"{parameter}=lambda{' ' * bool(names)}{names}: ..., and what else it needs from around it",
        )


def value_of(caller: str, parameter: str, value: Any) -> Any:
    """Return the result of a function without arguments; any other value as it is.

    Raises:
        ArgumentTypeError: it takes arguments.

    Example:
        >>> value_of("Variable", "initial_value", lambda: 2.0), value_of("Variable", "initial_value", 1.0)
        (2.0, 1.0)
    """
    if not callable(value):
        return value
    check_takes(caller, parameter, value, ())
    return value()


def check_signature(argument: str, fn: Callable[..., Any], names: tuple[str, ...]) -> None:
    """Raise if a function cannot be called with so many arguments, or is a class.

    Args:
        argument: What it is to be, such as ``"loss"``.
        fn: The function.
        names: What it is called with.

    Raises:
        ArgumentTypeError: it cannot.
    """
    if isinstance(fn, type):
        raise ArgumentTypeError(f"{argument}={fn.__name__}", "it is a class", f"an instance: {fn.__name__}()")
    known: set[tuple[str, ...]] = set()
    call = getattr(type(fn), "__call__", None)  # noqa: B004 - the function itself, of a class of somebody
    if isinstance(call, FunctionType) and not hasattr(fn, "__signature__"):
        known = _fitting.setdefault(call, known)
    if names in known:
        return
    found = misfit(fn, len(names))
    if found is not None:
        raise ArgumentTypeError(
            f"{'an' if argument[0] in 'aeiou' else 'a'} {argument} of the function {found.shown}",
            f"it is called with ({', '.join(names)}): {found.reason}",
            f"lambda {', '.join(names)}: ..., and constants in a closure",
        )
    known.add(names)


_fitting: WeakKeyDictionary[FunctionType, set[tuple[str, ...]]] = WeakKeyDictionary()
"""What methods ``__call__`` were found to take: each Variable asks this of its initializer."""


def _fits_at_a_glance(fn: object, count: int) -> bool:
    """Return True where a plain function or method takes so many arguments: what most are, told in no time."""
    if type(fn) is MethodType:
        fn, count = fn.__func__, count + 1
    if type(fn) is not FunctionType:
        return False
    code = fn.__code__
    return not code.co_kwonlyargcount and code.co_argcount - len(fn.__defaults__ or ()) <= count <= code.co_argcount


def _name(fn: object) -> str:
    name = getattr(fn, "__name__", None)
    return name if isinstance(name, str) else type(fn).__name__


def check_functions(name: str, instead: str, *functions: object) -> None:
    """Raise unless all of these can be called.

    Args:
        name: What got them, for the message.
        instead: The line to write, for the message.
        *functions: What it got.

    Raises:
        ArgumentTypeError: One is no function.
    """
    for one in functions:
        if not callable(one):
            raise ArgumentTypeError(
                f"{name} got {one!r:.60} of type {type(one).__name__} where it takes a function",
                "it calls the function itself; what a call returns is too late",
                instead,
            )
