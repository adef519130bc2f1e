"""associative_scan: results of all prefixes of a sequence, in logarithmically many steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from graftax.backend import registry
from graftax.core import tree
from graftax.core.errors import ArgumentError, DTypeError, ShapeError, StateError
from graftax.core.short_traceback import door
from graftax.core.typedefs import Array, unwrap
from graftax.core.user_functions import check_functions, check_takes
from graftax.transforms.lifting.frames import Substitution
from graftax.transforms.lifting.streams import is_stream
from graftax.variables import masks
from graftax.variables.added_loss import AddedLoss
from graftax.variables.state.storage import Storage, frames

T = TypeVar("T")


@door
def associative_scan(fn: Callable[[Any, Any], Any], elems: T, reverse: bool = False, axis: int = 0) -> T:
    r"""Combine all elements up to each place along an axis, in about ``2 log2(n)`` calls of ``fn`` on many at a time.

    .. math:: y_0 = x_0, \quad y_i = fn(y_{i-1}, x_i)

    computed by a tree, which is the same where ``fn`` is associative: ``fn(fn(a, b), c) == fn(a, fn(b, c))``. That is
    not checked; use `graftax.scan` for other functions. Cumulative sums and products and linear recurrences are such
    (``fn((a, b), (c, d)) = (a c, b c + d)`` computes ``h = a h + b``).

    Args:
        fn: Takes two structures like ``elems`` with some of the places along the axis, and combines them place by
            place; returns the like. It may read Variables; it may not assign them.
        elems: Any structure of arrays with the same number of places along the axis.
        reverse: Whether to go from the last place to the first; the later one is then the first argument of ``fn``.
            Defaults to False.
        axis: Along which axis of each array; negative ones count from the end. Defaults to 0.

    Returns:
        The structure of ``elems``, with the same shapes and dtypes.

    Shape:
        ``(..., places, ...) -> (..., places, ...)``

    Raises:
        ShapeError: an array has no such axis, the numbers of places differ, or ``fn`` returns other shapes.
        DTypeError: ``fn`` returns other dtypes.
        ArgumentError: there is no array, or ``fn`` returns another structure.
        StateError: ``fn`` assigns a Variable.

    Example:
        >>> import graftax as gx
        >>> associative_scan(gx.ops.add, gx.ops.asarray([1.0, 2.0, 3.0, 4.0])).tolist()
        [1.0, 3.0, 6.0, 10.0]
        >>> a, b = gx.ops.asarray([0.5, 0.5, 0.5]), gx.ops.asarray([1.0, 1.0, 1.0])  # h = 0.5 h + 1
        >>> associative_scan(lambda l, r: (l[0] * r[0], l[1] * r[0] + r[1]), (a, b))[1].tolist()
        [1.0, 1.5, 1.75]

    Source: G. E. Blelloch, Prefix Sums and Their Applications, CMU-CS-90-190, 1990.
    """
    check_functions("associative_scan", "graftax.associative_scan(fn, elems)", fn)
    check_takes("associative_scan", "fn", fn, ["left", "right"], "graftax.associative_scan(lambda a, b: a + b, elems)")
    paths, leaves = _arrays_of(elems, "elems")
    prefixes = _Prefixes(fn, elems, _axes(paths, leaves, axis), reverse)
    backend = registry.current()
    frame = _Unassigned(frames.top, (), backend.tracing.level() if backend.has("tracing") else None)
    with frames.entered(frame):
        found = prefixes(leaves)
    frame.commit()
    for one, other in zip(leaves, found, strict=True):  # places that count among the elements count among the prefixes
        masks.carry_over(one, other)
    result: T = _replace_arrays(elems, found)
    return result


class _Unassigned(Substitution):
    """State as the function of a scan in any order sees it: random streams move on, nothing else is assigned."""

    def write(self, storage: Storage, value: Array) -> None:
        """Let a random stream move on, and refuse all else."""
        if isinstance(storage.user, AddedLoss):
            raise StateError(
                f"associative_scan: the function calls a layer that adds a term of the loss, {storage.path!r}",
                "it is called for many places at a time, also for some that no result is made of",
                "graftax.scan, which adds up the terms place by place; or self.add_loss(...) outside of the scan",
            )
        if not is_stream(storage):
            raise StateError(
                f"associative_scan: the function assigned the variable {storage.path!r}",
                "it is called for many places at a time, in no order, so that no value is the last one",
                "graftax.scan, which goes place by place; or assign outside, from what the scan returns",
            )
        super().write(storage, value)


class _Prefixes:
    """The prefixes of lists of arrays, each along an axis of its own."""

    def __init__(self, fn: Callable[[Any, Any], Any], elems: object, axes: Sequence[int], reverse: bool) -> None:
        self._fn, self._elems, self._axes, self._reverse = fn, elems, axes, reverse
        self._paths = _arrays_of(elems, "result")[0]
        self._numpy = registry.current().arrays.numpy

    def __call__(self, leaves: list[Any]) -> list[Any]:
        """Return the prefixes, from the end where that is asked for."""
        turn = (
            [self._numpy.flip(one, i) for one, i in zip(leaves, self._axes, strict=True)] if self._reverse else leaves
        )
        found = self._forward(turn)
        return [self._numpy.flip(one, i) for one, i in zip(found, self._axes, strict=True)] if self._reverse else found

    def _forward(self, leaves: list[Any]) -> list[Any]:
        count = leaves[0].shape[self._axes[0]]
        if count < 2:
            return leaves
        # pairs first; their prefixes are those at odd places, and each one more element gives those between
        odd = self._forward(self._combine(self._cut(leaves, 0, count - 1, 2), self._cut(leaves, 1, None, 2)))
        first, rest = self._cut(leaves, 0, 1), self._cut(leaves, 2, None, 2)
        if count > 2:
            before = self._cut(odd, 0, rest[0].shape[self._axes[0]])
            first = [
                self._numpy.concatenate([one, other], i)
                for one, other, i in zip(first, self._combine(before, rest), self._axes, strict=True)
            ]
        return [self._interleave(one, other, i, count) for one, other, i in zip(first, odd, self._axes, strict=True)]

    def _cut(self, leaves: list[Any], start: int, stop: int | None, step: int = 1) -> list[Any]:
        return [
            one[(slice(None),) * i + (slice(start, stop, step),)] for one, i in zip(leaves, self._axes, strict=True)
        ]

    def _interleave(self, even: Any, odd: Any, axis: int, count: int) -> Any:
        """Put arrays at the even and at the odd places of one; of an odd number of places, the last is even."""
        numpy, half = self._numpy, odd.shape[axis]
        head, last = (even[(slice(None),) * axis + (part,)] for part in (slice(0, half), slice(half, None)))
        shape = (*odd.shape[:axis], 2 * half, *odd.shape[axis + 1 :])
        pairs = numpy.reshape(numpy.stack([head, odd], axis + 1), shape)
        return pairs if count % 2 == 0 else numpy.concatenate([pairs, last], axis)

    def _combine(self, left: list[Any], right: list[Any]) -> list[Any]:
        result = self._fn(_replace_arrays(self._elems, left), _replace_arrays(self._elems, right))
        paths, made = _arrays_of(tree.reorder(result, self._elems), "result")
        if paths != self._paths:
            raise ArgumentError(
                f"associative_scan: the function returned the leaves {paths}",
                f"it combines two structures with the leaves {self._paths}, and returns another one",
                "the same nesting and keys",
            )
        weak = registry.current().arrays.is_weak
        for path, one, given in zip(paths, made, right, strict=True):
            if tuple(one.shape) != tuple(given.shape):
                raise ShapeError(
                    f"associative_scan: {path!r} has shape {tuple(one.shape)}, of two of shape {tuple(given.shape)}",
                    "the function combines many places at a time, and gives one for each two",
                    "operations place by place, with the axis that is scanned kept as it is",
                )
            if one.dtype != given.dtype and not weak(given):
                raise DTypeError(
                    f"associative_scan: {path!r} is {one.dtype}, of two of {given.dtype}",
                    "results are combined further, and none is converted silently",
                    f'ops.cast(x, "{given.dtype}") in the function',
                )
        return made


def _arrays_of(value: object, name: str) -> tuple[list[str], list[Any]]:
    """Return the leaves of a structure as arrays, and their paths; None is none of them."""
    arrays = registry.current().arrays
    found = [(path, leaf) for path, leaf in tree.flatten_with_paths(value, name) if leaf is not None]
    return [path for path, _ in found], [arrays.asarray(unwrap(leaf)) for _, leaf in found]


def _replace_arrays(structure: object, leaves: Sequence[Any]) -> Any:
    """Return a structure with other arrays in it."""
    values = iter(leaves)
    return tree.rebuild(structure, iter([leaf if leaf is None else next(values) for leaf in tree.flatten(structure)]))


def _axes(paths: Sequence[str], leaves: Sequence[Array], axis: int) -> list[int]:
    """Return the axis of each array, counted from the front."""
    if type(axis) is not int:
        raise ArgumentError(f"associative_scan got axis={axis!r}", "it is one integer", "axis=0")
    if not leaves:
        raise ArgumentError("associative_scan got no array", "there is nothing to combine", "an array")
    sizes: list[int] = []
    for path, leaf in zip(paths, leaves, strict=True):
        if not -leaf.ndim <= axis < leaf.ndim:
            raise ShapeError(
                f"associative_scan: axis = {axis} of {path!r}, of shape {tuple(leaf.shape)}",
                f"it has {leaf.ndim} axes",
                "an axis that all arrays have",
            )
        sizes.append(leaf.shape[axis])
        if sizes[-1] != sizes[0]:
            raise ShapeError(
                f"associative_scan: {paths[0]!r} has {sizes[0]} places along axis {axis}, {path!r} has {sizes[-1]}",
                "the places of all arrays are combined together",
                "arrays of one size along the axis; a constant in a closure",
            )
    return [axis % leaf.ndim for leaf in leaves]
