"""Whole derivatives: Jacobians, Hessians, Jacobians of single examples."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from graftax.backend import registry
from graftax.core import tree
from graftax.core.errors import GradientError, ShapeError
from graftax.core.short_traceback import door
from graftax.core.typedefs import Array, Shape, unwrap
from graftax.core.user_functions import check_functions, check_takes
from graftax.core.wrapping import function_name
from graftax.transforms.chunk_size import check_chunk_size
from graftax.transforms.gradients.derivatives import rows_differ
from graftax.transforms.gradients.sources import check_sources, expand, first_argument, moved_value
from graftax.transforms.gradients.vjp import Pulled, floating_results, pull_back, substitution_maker
from graftax.transforms.lifting.carried import hand_on
from graftax.variables.state.storage import frames


class _Sources:
    """What is differentiated with respect to: the first argument, or Variables."""

    def __init__(self, fn: Callable[..., Any], args: tuple[Any, ...], wrt: object) -> None:
        self._fn = fn
        self._args = args
        self._first = wrt is None
        self.structure = first_argument(fn, args) if self._first else expand(wrt)
        self._leaves = tree.flatten(self.structure)
        unique = self._leaves if self._first else list(dict.fromkeys(self._leaves))
        places = {id(source): i for i, source in enumerate(unique)}  # == of Variables compares elements
        self._place = [i if self._first else places[id(leaf)] for i, leaf in enumerate(self._leaves)]
        look = unwrap if self._first else moved_value
        self.values = [registry.current().arrays.asarray(look(source)) for source in unique]
        check_sources(fn, unique, self.values, self.structure)
        self.storages = [] if self._first else [source._storage for source in unique]
        self.frame = substitution_maker(self.storages)
        self.came = self._leaves if self._first else []
        """What the values were made of, for their masks."""

    def call(self, values: list[Any]) -> Any:
        """Call the function at other values of the sources."""
        if self._first:
            return self._fn(tree.rebuild(self._args[0], iter(values)), *self._args[1:])
        return self._fn(*self._args)

    def rebuild(self, parts: Sequence[Any]) -> Any:
        """Return the structure of the sources, from something for each of them."""
        return tree.rebuild(self.structure, iter([parts[i] for i in self._place]))


@door
def jacobian(fn: Callable[..., Any], *args: Any, wrt: object = None, chunk_size: int | None = None) -> Any:
    """Compute the derivative of each element of ``fn(*args)``, vectorised.

    Args:
        fn: Takes and returns structures of floating arrays; what it assigns to Variables takes effect, once.
        *args: Where to evaluate.
        wrt: Variables, a Module, or a structure of these. Defaults to None, for the first argument.
        chunk_size: How many elements of the value at a time; bounds the memory. Defaults to None,
            for all.

    Returns:
        The structure of the value, with that of the sources in place of each array.

    Shape:
        ``(*target), (*source) -> (*target, *source)``

    Raises:
        GradientError: a source or the value is not floating, or there is none.
        ArgumentError: ``chunk_size`` is no positive integer.

    Example:
        >>> import graftax as gx
        >>> jacobian(lambda x: x**2, gx.ops.asarray([1.0, 2.0])).tolist()
        [[2.0, 0.0], [0.0, 4.0]]
    """
    check_functions("jacobian", "graftax.jacobian(fn, x)", fn)
    check_chunk_size("jacobian", chunk_size)
    _check_called_at_once("jacobian", fn, args, wrt)
    check_takes("jacobian", "fn", fn, ["argument"] * len(args), "graftax.jacobian(fn, x, y): fn gets what follows")
    sources = _Sources(fn, args, wrt)
    found = pull_back(fn, sources.call, sources.values, sources.frame, sources.came)
    blocks = [sources.rebuild(_block(found, i, sources.values, chunk_size)) for i in range(len(found.leaves))]
    return registry.current().gradients.unflatten(found.structure, blocks)


@door
def hessian(fn: Callable[..., Any], *args: Any, wrt: object = None, chunk_size: int | None = None) -> Any:
    """Compute the second derivatives of ``fn(*args)``, a scalar, vectorised.

    Args:
        fn: Takes structures of floating arrays; what it assigns to Variables takes effect, once.
        *args: Where to evaluate.
        wrt: Variables, a Module, or a structure of these. Defaults to None, for the first argument.
        chunk_size: How many rows at a time; bounds the memory. Defaults to None,
            for all.

    Returns:
        The structure of the sources, with that of the sources in place of each array.

    Shape:
        ``(*first), (*second) -> (*first, *second)``

    Raises:
        GradientError: the value is no floating scalar, or a source is not floating.
        ArgumentError: ``chunk_size`` is no positive integer.

    Example:
        >>> import graftax as gx
        >>> hessian(lambda x: gx.ops.sum(x**3), gx.ops.asarray([1.0, 2.0])).tolist()
        [[6.0, 0.0], [0.0, 12.0]]
    """
    check_functions("hessian", "graftax.hessian(fn, x)", fn)
    check_chunk_size("hessian", chunk_size)
    _check_called_at_once("hessian", fn, args, wrt)
    check_takes("hessian", "fn", fn, ["argument"] * len(args), "graftax.hessian(fn, x, y): fn gets what follows")
    sources = _Sources(fn, args, wrt)

    def gradient(values: list[Any]) -> list[Any]:
        found = pull_back(fn, sources.call, values, substitution_maker(sources.storages), sources.came)
        if [tuple(leaf.shape) for leaf in found.leaves] != [()]:
            raise GradientError(
                f"{found.name} returned {len(found.leaves)} arrays of shapes {[tuple(x.shape) for x in found.leaves]}",
                "a Hessian is that of one number",
                "return ops.mean(...) or ops.sum(...)",
            )
        return found.pull(found.weights())

    found = pull_back(fn, gradient, sources.values, sources.frame, sources.came)
    blocks = [sources.rebuild(_block(found, i, sources.values, chunk_size)) for i in range(len(found.leaves))]
    return sources.rebuild(blocks)


@door
def batch_jacobian(fn: Callable[[Any], Any], x: object, chunk_size: int | None = None, check: bool = False) -> Any:
    """Compute the Jacobian of each example of a batch, where no example of ``fn(x)`` depends on another one of ``x``.

    Args:
        fn: Takes and returns a floating array whose first axis is the batch.
        x: Where to evaluate.
        chunk_size: How many elements of an example of the value at a time; bounds the memory. Defaults to None,
            for all.
        check: Whether to make sure, for the first and the last example, that they depend on no other; without, the
            numbers are wrong if they do. Defaults to False.

    Shape:
        ``(batch, *target), (batch, *source) -> (batch, *target, *source)``

    Raises:
        ShapeError: the first axes differ, or there is none besides.
        GradientError: ``x`` or the value is not floating; with ``check``: examples depend on each other.
        ArgumentError: ``chunk_size`` is no positive integer.

    Example:
        >>> import graftax as gx
        >>> batch_jacobian(lambda x: x**2, gx.ops.asarray([[1.0, 2.0], [3.0, 4.0]])).tolist()
        [[[2.0, 0.0], [0.0, 4.0]], [[6.0, 0.0], [0.0, 8.0]]]
    """
    check_functions("batch_jacobian", "graftax.batch_jacobian(fn, x)", fn)
    check_takes("batch_jacobian", "fn", fn, ["x"], "graftax.batch_jacobian(lambda x: fn(x, other), x)")
    check_chunk_size("batch_jacobian", chunk_size)
    sources = _Sources(fn, (x,), None)
    found = pull_back(fn, sources.call, sources.values, sources.frame, sources.came)
    shapes = [tuple(leaf.shape) for leaf in (*found.leaves, *sources.values)]
    if len(shapes) != 2 or min(map(len, shapes)) < 2 or shapes[0][0] != shapes[1][0]:
        raise ShapeError(
            f"batch_jacobian of {found.name}: a value of shapes {shapes[: len(found.leaves)]}, "
            f"x of shapes {shapes[len(found.leaves) :]}",
            "both are one array, with the batch as its first axis and at least one more",
            "jacobian() of a single example; reshape(x, (batch, 1)) of numbers",
        )
    (target, source), numpy = shapes, registry.current().arrays.numpy
    if check:

        def recompute(values: Sequence[Any]) -> list[Any]:
            with frames.entered(sources.frame([])):  # what it assigns has taken effect already
                hand_on(sources.came, values)
                return floating_results(fn, sources.call(list(values)))[0]

        differ = rows_differ(recompute, sources.values, [], target, str(found.leaves[0].dtype))[0]
        if bool(differ):
            raise GradientError(
                f"batch_jacobian(check=True): an example of {found.name} depends on another example of x",
                "the Jacobians of single examples do not exist then (batch statistics, attention over the batch, ...)",
                "jacobian(), which gives all of it",
            )
    (rows,) = _rows(found, 0, target[1:], chunk_size)
    return numpy.moveaxis(rows, 0, 1).reshape((*target, *source[1:]))


# --- rows -------------------------------------------------------------------------------------------------------------


def _block(pullback: Pulled, which: int, values: list[Any], chunk_size: int | None) -> list[Any]:
    """Compute the derivatives of one result with respect to each source."""
    shape = tuple(pullback.leaves[which].shape)
    rows = _rows(pullback, which, shape, chunk_size)
    return [row.reshape((*shape, *value.shape)) for row, value in zip(rows, values, strict=True)]


def _rows(pullback: Pulled, which: int, unit: Shape, chunk_size: int | None) -> list[Any]:
    """Compute the gradients of each element of the last axes of a result."""
    numpy, vectorizing = registry.current().arrays.numpy, registry.current().vectorizing
    count = numpy.arange(math.prod(unit))
    zeros = [numpy.zeros_like(leaf) for leaf in pullback.leaves]
    target = pullback.leaves[which]

    def row(index: Array) -> list[Any]:
        one = (count == index).astype(target.dtype).reshape(unit)
        return pullback.pull([*zeros[:which], numpy.broadcast_to(one, target.shape), *zeros[which + 1 :]])

    return list(vectorizing.map_rows(row, count, chunk_size))


def _check_called_at_once(name: str, fn: Callable[..., Any], args: tuple[Any, ...], wrt: object) -> None:
    if not args and wrt is None:
        raise GradientError(
            f"{name}({function_name(fn)}) got no argument and no wrt=",
            "the function and where to evaluate it are given in one call, which returns arrays and no function",
            f"graftax.{name}(f, x) in place of {name}(f)(x); graftax.{name}(f, wrt=variables)",
        )
