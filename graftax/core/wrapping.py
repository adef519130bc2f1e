"""Wrapping: a function made from another one is called what that one is called, and shares nothing else with it."""

from collections.abc import Callable
from contextlib import suppress
from functools import update_wrapper
from inspect import signature
from typing import Any, TypeVar, cast

W = TypeVar("W")


def carry_names(wrapper: W, fn: Any) -> W:
    """Give a wrapper the name, the documentation and the signature of ``fn``, and return it.

    `functools.update_wrapper` also merges the ``__dict__`` of ``fn``, which for an object that can be called (a
    compiled function, a layer) is its state: the wrapper would then be that object, or change it.
    """
    update_wrapper(cast(Any, wrapper), fn, updated=())
    return wrapper


def carry_names_as_bound(wrapper: W, fn: Any) -> W:
    """Do the same for a wrapper of a method that gives it its object: without the first parameter."""
    carry_names(wrapper, fn)
    with suppress(TypeError, ValueError):  # it tells no signature, or takes no object
        found = signature(fn)
        first, *rest = found.parameters.values()
        if first.kind is not first.VAR_POSITIONAL:
            cast(Any, wrapper).__signature__ = found.replace(parameters=rest)
    return wrapper


def function_name(fn: Callable[..., Any]) -> str:
    """Return what a function is called in messages."""
    return getattr(fn, "__qualname__", None) or repr(fn)


def wraps(fn: object) -> Callable[[W], W]:
    """Decorate a wrapper of ``fn``: as `functools.wraps`, but names only."""
    return lambda wrapper: carry_names(wrapper, fn)
