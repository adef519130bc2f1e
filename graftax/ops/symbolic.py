"""Values that are not there yet: what is known of one, what will make it, and how a call on some is recorded.

Functions and layers notice such a value only where they turn what is no array into one: there it raises `MetSymbolic`,
and whoever was called records the call in place of computing. Ordinary calls pay nothing for it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np

from graftax.backend import registry
from graftax.backend.host import host_dtype
from graftax.core import tree
from graftax.core.errors import ArgumentError, ArgumentTypeError, GraftaxError, StateError
from graftax.core.typedefs import VariableLike

Sizes = tuple[int | None, ...]

_numbers = itertools.count()
_FILLED = ((8, 16), (60, 120), (840, 1680))  # sizes that are tried where one is unknown, until a call takes them


class MetSymbolic(BaseException):
    """Code that computes has met a value that is not there yet: no error, so nothing that explains errors sees it."""


class Spec:
    """The shape and dtype of a value, where None stands for a size that is not known.

    Args:
        shape: The sizes.
        dtype: The name of the dtype.
    """

    __slots__ = ("dtype", "shape")

    def __init__(self, shape: Sizes, dtype: str) -> None:
        self.shape, self.dtype = shape, dtype

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Spec) and (self.shape, self.dtype) == (other.shape, other.dtype)

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype))

    def __repr__(self) -> str:
        return f"{self.dtype}[{', '.join('None' if n is None else str(n) for n in self.shape)}]"


class Origin:
    """One call that is recorded: it will make values.

    Args:
        callee: What is called: the name of an op, or a layer; for an input, the layer that stands for it.
        args: Its arguments, nested, with symbolic values among them.
        kwargs: Those by name.
        results: What it gives: a structure with a `Spec` for each array.
        is_input: Whether the value is given when the graph runs. Defaults to False.
    """

    __slots__ = ("__weakref__", "args", "callee", "is_input", "kwargs", "number", "results", "specs")

    def __init__(
        self, callee: Any, args: tuple[Any, ...], kwargs: dict[str, Any], results: object, is_input: bool = False
    ) -> None:
        self.callee, self.args, self.kwargs, self.results, self.is_input = callee, args, kwargs, results, is_input
        self.specs = tree.flatten(results)
        self.number = next(_numbers)

    def parents(self) -> Iterator[Symbolic]:
        """Yield the symbolic values among the arguments."""
        return (leaf for leaf in leaves((self.args, self.kwargs)) if isinstance(leaf, Symbolic))


class Symbolic:
    """A value that is not there yet: one result of a call that is recorded.

    Args:
        origin: The call.
        place: Which of its results.
    """

    __slots__ = ("__weakref__", "origin", "place")

    def __init__(self, origin: Origin, place: int) -> None:
        self.origin, self.place = origin, place

    @property
    def spec(self) -> Spec:
        """Return what is known of it."""
        found: Spec = self.origin.specs[self.place]
        return found

    @property
    def key(self) -> tuple[int, int]:
        """Return what tells it from others: one result may be described by several objects."""
        return self.origin.number, self.place

    @property
    def shape(self) -> Sizes:
        """Return the sizes of its axes; None for one that is not known, such as that of the batch."""
        return self.spec.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Return the dtype."""
        return host_dtype(self.spec.dtype)

    @property
    def ndim(self) -> int:
        """Return the number of axes."""
        return len(self.spec.shape)

    def results_like(self, origin: Origin) -> Any:
        """Return the results of another call as values of this class, in their structure."""
        places = itertools.count()

        def make(spec: object) -> Any:
            place = next(places)
            return type(self)(origin, place) if isinstance(spec, Spec) else spec

        return tree.map_structure(make, origin.results)

    def is_not_there(self, needs: str) -> NoReturn:
        """Raise for what takes a value.

        Raises:
            StateError: always.
        """
        raise StateError(
            f"{needs} of {self!r}",
            "the value is not there yet: it is computed when the model is called",
            "graftax.ops for what is to be computed then; model(x) or model.predict(x) for values",
        )


# --- nested arguments -------------------------------------------------------------------------------------------------


def map_leaves(function: Callable[[Any], Any], value: Any) -> Any:
    """Return nested lists, tuples, dicts and slices with their leaves replaced."""
    if isinstance(value, slice):
        return slice(function(value.start), function(value.stop), function(value.step))
    if tree.is_leaf(value):
        return function(value)
    found = [map_leaves(function, part) for part in (value.values() if isinstance(value, dict) else value)]
    if isinstance(value, dict):
        return dict(zip(value, found, strict=True))
    return type(value)(*found) if hasattr(value, "_fields") else type(value)(found)


def leaves(value: object) -> list[Any]:
    """Return the leaves of nested lists, tuples, dicts and slices, in order."""
    found: list[Any] = []
    map_leaves(found.append, value)
    return found


def origins_behind(value: object) -> list[Origin]:
    """Return all calls that the symbolic values in nested arguments come from, in the order in which they were made."""
    found: dict[int, Origin] = {}
    waiting = [leaf.origin for leaf in leaves(value) if isinstance(leaf, Symbolic)]
    while waiting:
        origin = waiting.pop()
        if origin.number not in found:
            found[origin.number] = origin
            waiting += [] if origin.is_input else [leaf.origin for leaf in origin.parents()]
    return [origin for _, origin in sorted(found.items())]


# --- recording --------------------------------------------------------------------------------------------------------


def record(callee: Any, title: str, args: tuple[Any, ...], kwargs: dict[str, Any], evaluate: Callable[..., Any]) -> Any:
    """Record a call with symbolic values among its arguments; return its results, which are symbolic.

    Args:
        callee: What `Origin` keeps.
        title: What the callee is called in messages.
        args: Its arguments.
        kwargs: Those by name.
        evaluate: Called with sizes for those that are unknown, it gives what the callee gives for arrays of such
            sizes, or the shapes and dtypes of it.

    Raises:
        ArgumentError: an argument belongs to a function that is being compiled.
    """
    # what lists have later must not matter
    args, kwargs = map_leaves(_copy_leaf, args), map_leaves(_copy_leaf, kwargs)
    given = leaves((args, kwargs))
    met = next(leaf for leaf in given if isinstance(leaf, Symbolic))
    arrays = registry.current().arrays
    for leaf in given:
        if arrays.is_array(leaf) and not arrays.is_concrete(leaf):
            raise ArgumentError(
                f"{title} got {met!r} together with a value of a function that is being compiled",
                "the graph of layers outlives the function, and the value does not",
                "an argument of the layer that holds it, or of the function, in place of a value from around it",
            )
    results = evaluate_specs(evaluate, [leaf for leaf in given if isinstance(leaf, Symbolic)])
    return met.results_like(Origin(callee, args, kwargs, results))


def _copy_leaf(leaf: object) -> Any:
    return np.array(leaf) if isinstance(leaf, np.ndarray) else leaf


def evaluate_specs(evaluate: Callable[[int], Any], inputs: list[Symbolic]) -> Any:
    """Return what a call gives, as a structure of `Spec`, from its results for two sizes in place of the unknown ones.

    Raises:
        Exception: what the call raises for such arrays.
    """
    if not any(None in value.shape for value in inputs):
        return tree.map_structure(_spec, evaluate(0))
    first: Exception | None = None
    for one, other in _FILLED if any(None in value.shape[1:] for value in inputs) else _FILLED[:1]:
        try:
            return tree.map_structure(_merge_sizes, evaluate(one), evaluate(other))
        except Exception as error:  # noqa: BLE001 - of a size that is too small, perhaps
            first = error if first is None else first
    assert first is not None  # one pair at least was tried
    if isinstance(first, GraftaxError):
        first.add_context(f"{', '.join(map(repr, inputs))}, where None is tried as {_FILLED[0][0]} and {_FILLED[0][1]}")
    raise first


def _spec(leaf: Any) -> Any:
    return Spec(tuple(leaf.shape), str(leaf.dtype)) if hasattr(leaf, "dtype") else leaf


def _merge_sizes(one: Any, other: Any) -> Any:
    if not hasattr(one, "dtype"):
        return one
    return Spec(tuple(a if a == b else None for a, b in zip(one.shape, other.shape, strict=True)), str(one.dtype))


def fill_zeros(value: object, size: int) -> Any:
    """Return nested arguments with zeros for symbolic values and Variables."""
    arrays = registry.current().arrays.numpy

    def zeros(leaf: object) -> Any:
        if isinstance(leaf, Symbolic):
            return arrays.zeros(tuple(size if n is None else n for n in leaf.shape), leaf.spec.dtype)
        return leaf

    return map_leaves(zeros, value)


def record_op(name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Record a call of an op.

    Raises:
        StateError: the op gives no array, and needs values.
    """
    if name in _ASKED:
        return _ASKED[name](*args, **kwargs)
    backend = registry.current()

    def run(size: int) -> Any:
        given, named = (
            map_leaves(_zeros_for_variable, fill_zeros(args, size)),
            map_leaves(_zeros_for_variable, fill_zeros(kwargs, size)),
        )
        return function(*given, **named)

    def evaluate(size: int) -> Any:
        return backend.tracing.eval_shape(lambda: run(size)) if backend.has("tracing") else run(size)

    return record(name, f"ops.{name}", args, kwargs, evaluate)


def _zeros_for_variable(leaf: object) -> Any:
    """Return zeros for a Variable, whose value no look at shapes needs."""
    if not isinstance(leaf, VariableLike):
        return leaf
    like: Any = leaf
    return registry.current().arrays.numpy.zeros(like.shape, str(like.dtype))


def _size(x: Symbolic) -> int:
    if None in x.shape:
        x.is_not_there("the number of elements")
    return math.prod(n for n in x.shape if n is not None)


_ASKED: dict[str, Callable[..., Any]] = {
    "shape": lambda x: x.shape,
    "ndim": lambda x: x.ndim,
    "size": _size,
    "to_numpy": lambda x: x.is_not_there("the value"),
}
"""Ops that give no array, and what they give for a value that is not there yet."""


def refuse_symbolic(name: str, value: object) -> None:
    """Raise if a value is not there yet where one must be.

    Raises:
        ArgumentTypeError: it is not.
    """
    if any(isinstance(leaf, Symbolic) for leaf in leaves(value)):
        raise ArgumentTypeError(
            f"{name} gave a value that is not there yet",
            "it is one from around it, and no function of its arguments",
            "all that it computes with among its arguments",
        )
