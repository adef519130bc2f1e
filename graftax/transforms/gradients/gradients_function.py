"""Gradients as functions: of chosen arguments, or of whatever Variables a function reads."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graftax.backend import registry
from graftax.core import tree
from graftax.core.dtypes import is_inexact
from graftax.core.errors import ArgumentError, ArgumentTypeError, DTypeError, GradientError
from graftax.core.short_traceback import door, door_around
from graftax.core.typedefs import Array, VariableLike, unwrap
from graftax.core.user_functions import check_functions
from graftax.core.wrapping import function_name
from graftax.transforms.gradients.sources import ONLY_FLOATING, OTHER_ARGUMENT, check_arrays, entry
from graftax.transforms.gradients.vjp import pull_back
from graftax.transforms.lifting.frames import Substitution
from graftax.variables.state.storage import Frame, Storage, frames
from graftax.variables.variable import Variable

Params = Sequence[int | str] | int | str | None


# --- with respect to arguments ----------------------------------------------------------------------------------------


@door
def value_and_gradients_function(fn: Callable[..., Any], params: Params = None) -> Callable[..., tuple[Any, list[Any]]]:
    """Return a function that gives the value of ``fn`` and the list of its gradients with respect to arguments.

    A value of several elements is summed, each element weighted by the keyword ``dy`` of the returned function. What
    ``fn`` assigns to Variables takes effect; Variables count as constants.

    Args:
        fn: Takes floating arrays, or structures of these, and returns any structure of floating arrays.
        params: Indices or names of the arguments. Defaults to None, for all positional ones.

    Raises:
        ArgumentError: at the call: there is no such argument, or ``dy`` has another structure than the value.
        DTypeError: at the call: an argument is not floating.
        GradientError: at the call: the value is None, or not floating.

    Example:
        >>> value, gradients = value_and_gradients_function(lambda x: x**2)(3.0)
        >>> float(value), [float(g) for g in gradients]
        (9.0, [6.0])
    """
    check_functions("value_and_gradients_function", "graftax.value_and_gradients_function(fn)(x)", fn)

    @door_around(fn)
    def run(*args: Any, dy: object = None, **kwargs: Any) -> tuple[Any, list[Any]]:
        if dy is not None and "dy" in _parameters(fn):
            raise ArgumentError(
                f"the gradients of {function_name(fn)} with dy=, which is the name of an argument of the function, too",
                "which of the two is meant cannot be told",
                "another name for the argument, or its value by position",
            )
        places = _places(fn, params, args, kwargs)
        chosen = [args[place] if isinstance(place, int) else kwargs[place] for place in places]
        check_arrays(
            f"the gradients of {function_name(fn)} with respect to the arguments",
            chosen,
            "an array among the arguments; graftax.implicit_gradients(fn) for the Variables that it reads",
        )
        pairs = zip(places, chosen, strict=True)
        placed = [(place, path, leaf) for place, one in pairs for path, leaf in tree.flatten_with_paths(one)]
        values = [_check_floating(fn, *one) for one in placed]
        came = tree.flatten(chosen)

        def call(values: list[Any]) -> Any:
            new = dict(zip(places, tree.rebuild(chosen, iter(values)), strict=True))
            positional = [new.get(i, arg) for i, arg in enumerate(args)]
            return fn(*positional, **{name: new.get(name, arg) for name, arg in kwargs.items()})

        found = pull_back(fn, call, values, came=came)
        gradients = found.pull(found.weights(dy))
        return found.value, list(tree.rebuild(chosen, iter(gradients)))

    return run


@door
def gradients_function(fn: Callable[..., Any], params: Params = None) -> Callable[..., list[Any]]:
    """Return a function that gives the list of gradients of ``fn``, as `value_and_gradients_function` does.

    Example:
        >>> [float(g) for g in gradients_function(lambda x, y: x * x * y)(3.0, 2.0)]
        [12.0, 9.0]
        >>> [float(g) for g in gradients_function(lambda x, y: x * x * y, params=["y"])(3.0, 2.0)]
        [9.0]
        >>> import graftax as gx
        >>> gradients_function(lambda x: x * x)(gx.ops.asarray([1.0, 2.0]), dy=[1.0, 10.0])[0].tolist()
        [2.0, 40.0]
    """
    both = value_and_gradients_function(fn, params)

    @door_around(fn)
    def run(*args: Any, **kwargs: Any) -> list[Any]:
        return both(*args, **kwargs)[1]

    return run


def _places(fn: Callable[..., Any], params: Params, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[int | str]:
    """Return where each argument is: an index of a positional one, or a keyword."""
    if params is None:
        wanted: list[int | str] = [*range(len(args))] or [*kwargs]
    else:
        wanted = [params] if isinstance(params, int | str) else list(params)
    found = [_place(fn, one, args, kwargs) for one in wanted]
    if not found:
        raise GradientError(
            f"the gradients of {function_name(fn)} with respect to nothing: it was called without an argument",
            "there is nothing to differentiate with respect to",
            "graftax.implicit_gradients(fn)() for the Variables that it reads",
        )
    if len(set(found)) < len(found):
        raise ArgumentError(
            f"the gradients of {function_name(fn)} with respect to the arguments {found}",
            "one of them is named twice",
            f"{sorted(set(found))}",
        )
    return found


def _place(fn: Callable[..., Any], argnum: int | str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int | str:
    if isinstance(argnum, int) and not isinstance(argnum, bool):
        if 0 <= argnum < len(args):
            return argnum
    elif argnum in kwargs:
        return argnum
    else:
        names = _parameters(fn)
        if argnum in names and names.index(argnum) < len(args):
            return names.index(argnum)
    raise ArgumentError(
        f"the gradients of {function_name(fn)} with respect to the argument {argnum!r}",
        f"it was called with {len(args)} positional arguments and the keywords {list(kwargs)}",
        "params=[0], or the name of an argument that the call has",
    )


def _parameters(fn: Callable[..., Any]) -> list[str]:
    try:
        return list(inspect.signature(fn).parameters)
    except (TypeError, ValueError):  # a function without a signature
        return []


def _check_floating(fn: Callable[..., Any], place: int | str, path: str, leaf: object) -> Any:
    arrays = registry.current().arrays
    if not (isinstance(leaf, VariableLike | np.ndarray | np.generic | int | float | complex) or arrays.is_array(leaf)):
        raise ArgumentTypeError(
            f"the gradient of {function_name(fn)} with respect to the argument {place!r}, a {type(leaf).__name__}",
            "only arrays and numbers have gradients",
            "params=[...] with the arguments to differentiate with respect to",
        )
    value = arrays.asarray(unwrap(leaf))
    if not is_inexact(value.dtype):
        raise DTypeError(
            f"the gradient of {function_name(fn)} with respect to {entry(path)}the argument {place!r} of dtype "
            f"{value.dtype}",
            ONLY_FLOATING,
            OTHER_ARGUMENT if path else 'a number like 3.0, ops.cast(x, "float32"), or params=[...] that leaves it out',
        )
    return value


# --- with respect to the Variables that are read ----------------------------------------------------------------------


class _Tapped(Substitution):
    """State inside a function: the first read of a trainable Variable makes it a source."""

    def __init__(self, parent: Frame | None, token: Array, cotangents: dict[Storage, Any]) -> None:
        super().__init__(parent, (), registry.current().gradients.level())
        self._token = token
        self._cotangents = cotangents

    def read(self, storage: Storage) -> Array:
        """Return the value now, from which the gradient comes back."""
        if storage in self._now:
            return self._now[storage]
        value = super().read(storage)
        user = storage.user
        if isinstance(user, Variable) and user.trainable and is_inexact(user.dtype):
            cotangents = self._cotangents
            cotangents[storage] = None

            def record(gradient: Array) -> None:
                cotangents[storage] = gradient

            self.memo.forget(storage)  # what was computed from the value before has no way back to here
            value = registry.current().gradients.tap(value, self._token, record, self.level)
        self._now[storage] = value
        return value


@door
def implicit_value_and_gradients(fn: Callable[..., Any]) -> Callable[..., tuple[Any, list[tuple[Any, Variable]]]]:
    """Return a function that gives the value of ``fn``, and a gradient for each trainable Variable that it reads.

    The Variables are found while ``fn`` runs, and come in the order of their first reads; one that is read but does not
    matter has zeros. The list is what ``optimizer.apply_gradients`` takes. A value of several elements is summed. What
    ``fn`` assigns to Variables takes effect.

    Args:
        fn: Takes anything, and returns any structure of floating arrays.

    Raises:
        GradientError: at the call: no trainable Variable was read, or the value is None or not floating.

    Example:
        >>> import graftax as gx
        >>> v = gx.Variable(2.0)
        >>> value, [(gradient, variable)] = implicit_value_and_gradients(lambda x: x * v * v)(3.0)
        >>> float(value), float(gradient), variable is v
        (12.0, 12.0, True)
    """
    check_functions("implicit_value_and_gradients", "graftax.implicit_value_and_gradients(fn)(x)", fn)

    @door_around(fn)
    def run(*args: Any, **kwargs: Any) -> tuple[Any, list[tuple[Any, Variable]]]:
        cotangents: dict[Storage, Any] = {}
        parent = frames.top
        arrays = registry.current().arrays
        token = arrays.asarray(0.0, "float32")
        found = pull_back(
            fn, lambda _: fn(*args, **kwargs), [token], lambda given: _Tapped(parent, given[0], cotangents)
        )
        if not cotangents:
            raise GradientError(
                f"{function_name(fn)} reads no trainable Variable",
                "there is nothing to differentiate with respect to",
                "graftax.gradients_function(fn) for gradients of arguments; a frozen layer has no trainable Variables",
            )
        found.pull(found.weights())
        pairs = []
        for storage, gradient in cotangents.items():
            variable = storage.user
            if isinstance(variable, Variable):
                zeros = arrays.numpy.zeros(variable.shape, variable.dtype) if gradient is None else gradient
                pairs.append((zeros, variable))
        return found.value, pairs

    return run


@door
def implicit_gradients(fn: Callable[..., Any]) -> Callable[..., list[tuple[Any, Variable]]]:
    """Return a function that gives a gradient for each trainable Variable that ``fn`` reads.

    As `implicit_value_and_gradients`, without the value.

    Example:
        >>> import graftax as gx
        >>> v, w = gx.Variable(2.0), gx.Variable(3.0)
        >>> [(float(g), one is w) for g, one in implicit_gradients(lambda x: x * v * v * w)(1.0)]
        [(12.0, False), (4.0, True)]
    """
    both = implicit_value_and_gradients(fn)

    @door_around(fn)
    def run(*args: Any, **kwargs: Any) -> list[tuple[Any, Variable]]:
        return both(*args, **kwargs)[1]

    return run
