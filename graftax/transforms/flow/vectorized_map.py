"""vectorized_map: written for one row, computed for all rows at once; every row draws its own random numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from graftax.backend import registry
from graftax.core.errors import StateError
from graftax.core.short_traceback import door
from graftax.core.typedefs import Array
from graftax.transforms.chunk_size import check_chunk_size
from graftax.transforms.flow.axes import (
    Axes,
    argument_names,
    by_argument,
    placed,
    rows_first,
    spread,
)
from graftax.transforms.lifting.carried import RowMasks, masks_of, set_masks_of_rows
from graftax.transforms.lifting.parts import Around, Outline, PartFrame, arrays_of
from graftax.transforms.lifting.streams import is_stream
from graftax.variables.added_loss import AddedLoss
from graftax.variables.calls import contexts
from graftax.variables.state.storage import Storage, frames


class RowFrame(PartFrame):
    """State as one row sees it: random streams branch off, one branch for each row; nothing else may be assigned."""

    def __init__(self, around: Around, row: Any, drawn: dict[Storage, None], forgotten: dict[Storage, None]) -> None:
        super().__init__(around)
        self._row = row
        self._drawn = drawn
        self._forgotten = forgotten
        context = contexts.top
        self._called_around = context is not None and context.root is not None

    def read(self, storage: Storage) -> Array:
        """The value outside, of a random stream this row's branch of it."""
        if storage not in self._now:
            value = super().read(storage)
            if is_stream(storage):
                self._now[storage] = self._branch(value)
        return self._now[storage]

    def branched(self, key: Array) -> Array:
        """This row's branch of a stream that is the same for all rows; a stream of each row's own as it is."""
        key = super().branched(key)
        is_rows_own = registry.current().tracing.leaks(key, self._around.level)
        return key if is_rows_own else self._branch(key)

    def _branch(self, key: Array) -> Array:
        random = registry.current().random
        return random.fold_in(random.split(key, 2)[1], self._row)

    def write(self, storage: Storage, value: Array) -> None:
        """A random stream moves on; terms of the loss stay inside of the row; all else is refused."""
        if isinstance(storage.user, AddedLoss):
            if self._called_around:
                raise _adds_losses(storage.path)
            self._forgotten[storage] = None
            PartFrame.write(self, storage, value)
            return
        if not is_stream(storage):
            raise StateError(
                f"vectorized_map: the function assigned the variable {storage.path!r}",
                "every row would give it another value, and no row comes last",
                "return the value and assign it outside, for example its mean; graftax.map_fn, which goes row by row; "
                "training=False for layers that keep statistics of the batch",
            )
        self._drawn[storage] = None
        super().write(storage, value)


def _adds_losses(path: str) -> StateError:
    return StateError(
        f"vectorized_map: the function calls a layer that adds a term of the loss, {path!r}",
        "every row has another one, and whether they are to be added or averaged is not known",
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
    """``fn`` of each row, computed for all rows at once, and the results stacked.

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
        chunk_size: How many rows at a time; bounds the memory. All, unless told.
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
        StateError: ``fn`` assigned a Variable.

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
    backend = registry.current()
    transforms = backend.vectorizing
    check_chunk_size("vectorized_map", chunk_size)
    names, axes = argument_names(fn, len(elems)), by_argument(in_axes, len(elems))
    arguments = [_Argument(*each) for each in zip(names, elems, axes, strict=True)]
    leaves, count = rows_first(
        [path for one in arguments for path in one.paths],
        [leaf for one in arguments for leaf in one.leaves],
        [axis for one in arguments for axis in one.axes],
    )
    mapped = [axis is not None for one in arguments for axis in one.axes]
    rows = [axis and leaf.shape[0] == count for leaf, axis in zip(leaves, mapped, strict=True)]
    alike = [leaf[0] if axis and not row else leaf for leaf, axis, row in zip(leaves, mapped, rows, strict=True)]
    carried = RowMasks(
        [leaf for one in arguments for leaf in one.came], [a for one in arguments for a in one.axes], rows
    )
    around = Around()
    drawn: dict[Storage, None] = {}
    forgotten: dict[Storage, None] = {}
    made: list[Any] = []

    def one_row(given: Any) -> tuple[list[Any], list[Any]]:
        number, own, own_masks = given
        own = iter(own)
        filled = [next(own) if row else same for row, same in zip(rows, alike, strict=True)]
        carried.hand_on(filled, own_masks)
        values = iter(filled)
        with frames.entered(RowFrame(around, number, drawn, forgotten)):
            results, structure = arrays_of(fn(*(one.of(values) for one in arguments)))
        made[:] = [structure]
        return results, masks_of(results)

    numbers = backend.arrays.numpy.arange(count, dtype="uint32")
    given = numbers, [leaf for leaf, row in zip(leaves, rows, strict=True) if row], carried.cut
    results, found_masks = transforms.map_rows(
        one_row, given, chunk_size if chunk_size is not None and chunk_size < count else None
    )
    for storage in drawn:
        storage.write(backend.random.split(storage.read(), 2)[0])
    for storage in forgotten:
        storage.write(storage.backend.arrays.numpy.zeros_like(storage.buffer))
    structure = made[0]
    if type(out_axes) is not int or out_axes != 0:
        places = spread("out_axes", out_axes, transforms.unflatten(structure, results), "result")
        paths = Outline(structure, results).paths("result")
        results = [placed(*each) for each in zip(results, places, paths, strict=True)]
        set_masks_of_rows(results, found_masks, places)
    else:
        set_masks_of_rows(results, found_masks, [0] * len(results))
    return transforms.unflatten(structure, results)


class _Argument:
    """One argument of the function: its leaves, and along which axis each is mapped."""

    def __init__(self, name: str, value: Any, axes: Any) -> None:
        self._value = value
        self._structure: Any = None
        self.leaves: list[Array] = []
        self.axes: list[int | None] = []
        self.paths: list[str] = []
        self.came: list[Any] = []
        if axes is not None:  # else it is passed as it is
            self.axes = spread("in_axes", axes, value, name)
            self.leaves, self._structure = arrays_of(value)
            self.came = registry.current().tracing.flatten(value)[0]
            self.paths = Outline(self._structure, self.leaves).paths(name)

    def of(self, values: Iterator[Any]) -> Any:
        """What the function gets, with the next of these as leaves."""
        if self._structure is None:
            return self._value
        return registry.current().tracing.unflatten(self._structure, [next(values) for _ in self.leaves])
