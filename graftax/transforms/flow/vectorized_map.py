"""vectorized_map: written for one row, computed for all rows at once; every row draws its own random numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from graftax.backend import registry
from graftax.core.errors import StateError
from graftax.core.short_traceback import door
from graftax.core.typedefs import Array
from graftax.core.user_functions import check_functions, check_takes
from graftax.transforms.chunk_size import check_chunk_size
from graftax.transforms.flow.axes import Axes, argument_names, axes_of_leaves, by_argument, move_rows, rows_first
from graftax.transforms.lifting.attribute_frame import AttributeFrame
from graftax.transforms.lifting.carried import RowMasks, set_masks_of_rows
from graftax.transforms.lifting.frames import Around
from graftax.transforms.lifting.lifted import Lifted
from graftax.transforms.lifting.outline import Outline, arrays_of
from graftax.transforms.lifting.streams import is_stream
from graftax.variables.added_loss import AddedLoss
from graftax.variables.calls import contexts
from graftax.variables.state.storage import Storage


class RowFrame(AttributeFrame):
    """State as one row sees it: random streams branch off, one branch for each row; nothing else may be assigned."""

    def __init__(self, around: Around, storages: Sequence[Any], row: Array) -> None:
        super().__init__(around, storages)
        self._row = row
        context = contexts.top
        self._called_around = context is not None and context.root is not None

    def read(self, storage: Storage) -> Array:
        """Return the value outside, of a random stream this row's branch of it."""
        if storage not in self._now:
            value = super().read(storage)
            if is_stream(storage):  # at the first read: later draws of the row follow from its branch
                self._now[storage] = self._branch(value)
        return self._now[storage]

    def branch_stream(self, key: Array) -> Array:
        """Return this row's branch of a stream that is the same for all rows; a stream of each row's own as it is."""
        key = super().branch_stream(key)  # of a map around this one
        is_rows_own = registry.current().tracing.leaks(key, self._around.level)
        return key if is_rows_own else self._branch(key)

    def _branch(self, key: Array) -> Array:
        random = registry.current().random
        # the second half: with the first one the stream itself moves on, once all rows are done
        return random.fold_in(random.split(key, 2)[1], self._row)

    def start_streams_over(self) -> None:
        """Refuse it."""
        raise StateError(
            "vectorized_map: the function calls set_random_seed",
            "each row draws from a branch of its own, and the stream outside would go on as if no seed had been set",
            "graftax.set_random_seed(0) before the map; or seed=0 at a draw, which gives each row the same numbers",
        )

    def write(self, storage: Storage, value: Array) -> None:
        """Let a random stream move on, keep terms of the loss inside of the row, and refuse all else."""
        if isinstance(storage.user, AddedLoss):
            if self._called_around:
                raise _adds_losses(storage.path)
        elif not is_stream(storage):
            raise StateError(
                f"vectorized_map: the function assigned the variable {storage.path!r}",
                "every row would give it another value, and no row comes last",
                "return the value and assign it outside, for example its mean; graftax.map_fn, which goes row by row; "
                "training=False for layers that keep statistics of the batch",
            )
        super().write(storage, value)


def _adds_losses(path: str) -> StateError:
    return StateError(
        f"vectorized_map: the function calls a layer that adds a term of the loss, {path!r}",
        "each row adds a term of its own, and it is not known whether to add or to average them",
        "return the term with the row, and outside of the map self.add_loss(ops.mean(terms)); graftax.map_fn, which "
        "adds them up",
    )


@door
def vectorized_map(
    fn: Callable[..., Any],
    *elems: Any,
    chunk_size: int | None = None,
    in_axes: Axes = 0,
    out_axes: Axes = 0,
) -> Any:
    """Apply ``fn`` to each row, computed for all rows at once, and stack the results.

    Random streams (of `graftax.random`, of dropout layers) branch: each row draws its own numbers, and a stream moves
    on by one draw in all, however many rows there are. A fixed ``seed=`` draws the same for each row. So does the state
    that `functional_call` is given: a stream that is the same for all rows branches, and one that has a row for each is
    taken as it is; equal rows draw equal numbers. Stack the states of as many `SeedGenerator` to have them differ; do
    so, too, where a loop in ``fn`` carries the state: inside of it a stream is taken as it is.

    Args:
        fn: Takes a row of each of ``elems``, in its structure. It may read Variables, take gradients, draw random
            numbers; it may not assign.
        *elems: Arrays or any structures of arrays, one for each argument of ``fn``, with the same number of rows;
            arrays of one row go with any number.
        chunk_size: How many rows at a time; bounds the memory. Defaults to None, for all.
        in_axes: Along which axis the rows lie, negative ones from the end; None for what is the same for each row. A
            tuple has an entry for each argument, which may be a structure like the argument, or like its upper part.
            Defaults to 0 for everything. An argument with None is passed as it is, whatever it may be.
        out_axes: Along which axis the rows of the results lie: one for all, or a structure like that of the results,
            or like its upper part. Defaults to 0.

    Returns:
        The structure that ``fn`` returns; what does not depend on the row is repeated.

    Shape:
        ``(rows, ...) -> (rows, ...)``

    Raises:
        ShapeError: the numbers of rows differ, there is a scalar, or an array has no such axis.
        ArgumentError: there is no array; ``chunk_size`` is no positive integer; ``in_axes`` or ``out_axes`` has another
            structure.
        StateError: ``fn`` assigned a Variable, changed a plain attribute of a Module, or called `set_random_seed`.

    Example:
        >>> import graftax as gx
        >>> w = gx.Variable(3.0)
        >>> per_example = vectorized_map(lambda x: gx.grad(lambda: w * w * x, wrt=w)(), gx.ops.asarray([1.0, 2.0]))
        >>> per_example.tolist()
        [6.0, 12.0]
        >>> powers = vectorized_map(lambda x, n: x**n, gx.ops.asarray([2.0, 3.0]), 2.0, in_axes=(0, None))
        >>> powers.tolist()
        [4.0, 9.0]
    """
    transforms, arrays = registry.current().vectorizing, registry.current().arrays
    check_functions("vectorized_map", "graftax.vectorized_map(fn, rows)", fn)
    check_chunk_size("vectorized_map", chunk_size)
    rows = _Rows(fn, elems, in_axes)
    check_takes("vectorized_map", "fn", fn, ["row"] * len(elems), "graftax.vectorized_map(lambda x, y: x * y, xs, ys)")
    around, lifted = Around(), Lifted()

    def one_row(row: tuple[Array, list[Array], list[Array]]) -> tuple[list[Any], list[Array | None]]:
        number, own, masks = row
        frame = RowFrame(around, (fn, *elems), number)
        outcome = lifted(frame, lambda: fn(*rows.arguments(own, masks)))
        if found := frame.changed_attributes():
            raise _changes(found)
        return outcome.leaves, outcome.masks  # what is assigned is not of a row: `_move_on` sees to it

    numbers = arrays.numpy.arange(rows.count, dtype="uint32")
    at_a_time = chunk_size if chunk_size is not None and chunk_size < rows.count else None
    results, masks = transforms.map_rows(one_row, (numbers, rows.cut, rows.masks.cut), at_a_time)
    _move_on(lifted.written)
    return _place_results(lifted.structure, results, masks, out_axes)


def _changes(names: Sequence[str]) -> StateError:
    return StateError(
        f"vectorized_map: the function changes {', '.join(names)}",
        "its Python runs once for all rows, so that no row would see what the one before it has changed",
        "change it outside, once for all rows; return what differs from row to row",
    )


def _move_on(storages: Iterable[Any]) -> None:
    """Let random streams that rows branched off continue elsewhere; terms of the loss stay inside of rows."""
    for storage in storages:
        if is_stream(storage):
            storage.write(registry.current().random.split(storage.read(), 2)[0])
        else:
            storage.user.stay_in_rows()


def _place_results(structure: object, results: list[Array], masks: Sequence[Array | None], out_axes: Axes) -> Any:
    """Return the stacked results in the structure that the function returns, their rows along the axes asked for."""
    unflatten = registry.current().vectorizing.unflatten
    places: list[int | None] = [0] * len(results)
    if type(out_axes) is not int or out_axes != 0:
        places = axes_of_leaves("out_axes", out_axes, unflatten(structure, results), "result")
        paths = Outline(structure, results).paths("result")
        results = [move_rows(*each) for each in zip(results, places, paths, strict=True)]
    set_masks_of_rows(results, masks, places)
    return unflatten(structure, results)


class _Rows:
    """What the function is called with, cut into rows.

    Args:
        fn: The function, for the names of its arguments.
        elems: One structure of arrays for each argument.
        in_axes: Along which axis the rows of each lie.
    """

    def __init__(self, fn: Callable[..., Any], elems: Sequence[Any], in_axes: Axes) -> None:
        names, axes = argument_names(fn, len(elems)), by_argument(in_axes, len(elems))
        self._arguments = [_Argument(*each) for each in zip(names, elems, axes, strict=True)]
        where = [axis for one in self._arguments for axis in one.axes]
        leaves, self.count = rows_first(
            [path for one in self._arguments for path in one.paths],
            [leaf for one in self._arguments for leaf in one.leaves],
            where,
        )
        # an array of one row is the same for all, as is one that is not mapped at all
        self._is_cut = [
            axis is not None and leaf.shape[0] == self.count for leaf, axis in zip(leaves, where, strict=True)
        ]
        self._alike = [
            leaf if axis is None or cut else leaf[0]
            for leaf, axis, cut in zip(leaves, where, self._is_cut, strict=True)
        ]
        self.cut = [leaf for leaf, cut in zip(leaves, self._is_cut, strict=True) if cut]
        """The arrays that have a row for each call."""
        self.masks = RowMasks([leaf for one in self._arguments for leaf in one.came], where, self._is_cut)

    def arguments(self, own: Iterable[Array], masks: Sequence[Array]) -> list[Any]:
        """Return the arguments for one row, given its part of each array and of each mask that is cut."""
        rest = iter(own)
        filled = [next(rest) if cut else same for cut, same in zip(self._is_cut, self._alike, strict=True)]
        self.masks.hand_on(filled, masks)
        values = iter(filled)
        return [one.rebuild(values) for one in self._arguments]


class _Argument:
    """One argument of the function: its leaves, and along which axis each is mapped."""

    def __init__(self, name: str, value: object, axes: object) -> None:
        self._value = value
        self._structure: Any = None
        self.leaves: list[Array] = []
        self.axes: list[int | None] = []
        self.paths: list[str] = []
        self.came: list[Any] = []
        if axes is not None:  # else it is passed as it is
            self.axes = axes_of_leaves("in_axes", axes, value, name)
            self.leaves, self._structure = arrays_of(value)
            self.came = registry.current().tracing.flatten(value)[0]
            self.paths = Outline(self._structure, self.leaves).paths(name)

    def rebuild(self, values: Iterator[Any]) -> Any:
        """Return what the function gets, with the next of these as leaves."""
        if self._structure is None:
            return self._value
        return registry.current().tracing.unflatten(self._structure, [next(values) for _ in self.leaves])
