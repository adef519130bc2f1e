"""vectorized_map: written for one row, computed for all rows at once; every row draws its own random numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graftax.backend import registry
from graftax.errors import ArgumentError, StateError
from graftax.short_traceback import door
from graftax.transforms.threaded import Around, Outline, PartFrame, arrays_of, common_length
from graftax.typedefs import Array
from graftax.variables.storage import Storage, frames


class RowFrame(PartFrame):
    """State as one row sees it: random streams branch off, one branch for each row; nothing else may be assigned."""

    def __init__(self, around: Around, row: Any, drawn: dict[Storage, None]) -> None:
        super().__init__(around)
        self._row = row
        self._drawn = drawn

    def read(self, storage: Storage) -> Array:
        """The value outside, of a random stream this row's branch of it."""
        if storage not in self._now:
            value = super().read(storage)
            if _is_stream(storage):
                random = registry.current().random
                self._now[storage] = random.fold_in(random.split(value, 2)[1], self._row)
        return self._now[storage]

    def write(self, storage: Storage, value: Array) -> None:
        """A random stream moves on; all else is refused."""
        if not _is_stream(storage):
            raise StateError(
                f"vectorized_map: the function assigned the variable {storage.path!r}",
                "every row would give it another value, and no row comes last",
                "return the value and assign it outside, for example its mean; graftax.map_fn, which goes row by row; "
                "training=False for layers that keep statistics of the batch",
            )
        self._drawn[storage] = None
        super().write(storage, value)


def _is_stream(storage: Storage) -> bool:
    return getattr(storage.user, "role", None) == "seed"


@door
def vectorized_map(fn: Callable[[Any], Any], elems: Any, chunk_size: int | None = None) -> Any:
    """``fn`` of each row, computed for all rows at once, and the results stacked.

    Random streams (of `graftax.random`, of dropout layers) branch: each row draws its own numbers, and a stream moves
    on by one draw in all, however many rows there are. A fixed ``seed=`` draws the same for each row.

    Args:
        fn: Takes a row, in the structure of ``elems``. It may read Variables, take gradients, draw random numbers; it
            may not assign.
        elems: An array or any structure of arrays with the same number of rows; arrays of one row go with any number.
        chunk_size: How many rows at a time; bounds the memory. All, unless told.

    Returns:
        The structure that ``fn`` returns; what does not depend on the row is repeated.

    Shape:
        ``(rows, ...) -> (rows, ...)``

    Raises:
        ShapeError: the numbers of rows differ, or there is a scalar.
        ArgumentError: there is no array, or ``chunk_size`` is no positive integer.
        StateError: ``fn`` assigned a Variable.

    Example:
        >>> import graftax as gx
        >>> w = gx.Variable(3.0)
        >>> per_example = vectorized_map(lambda x: gx.grad(lambda: w * w * x, wrt=w)(), gx.ops.asarray([1.0, 2.0]))
        >>> per_example.tolist()
        [6.0, 12.0]
    """
    backend = registry.current()
    transforms = backend.transforms
    leaves, structure = arrays_of(elems)
    count = common_length("vectorized_map", Outline(structure, leaves).paths("elems"), leaves, broadcasts=True)
    if chunk_size is not None and (type(chunk_size) is not int or chunk_size < 1):
        raise ArgumentError(
            f"vectorized_map got chunk_size={chunk_size!r}", "it is a positive number of rows, or None", "chunk_size=64"
        )
    mapped = [leaf.shape[0] == count for leaf in leaves]
    alike = [leaf if row else leaf[0] for leaf, row in zip(leaves, mapped, strict=True)]
    around = Around()
    drawn: dict[Storage, None] = {}
    made: list[Any] = []

    def one(given: Any) -> list[Any]:
        number, rows = given
        own = iter(rows)
        values = [next(own) if row else same for row, same in zip(mapped, alike, strict=True)]
        with frames.entered(RowFrame(around, number, drawn)):
            results, out = arrays_of(fn(transforms.unflatten(structure, values)))
        made[:] = [out]
        return results

    numbers = backend.arrays.numpy.arange(count, dtype="uint32")
    given = numbers, [leaf for leaf, row in zip(leaves, mapped, strict=True) if row]
    results = transforms.map_rows(one, given, chunk_size if chunk_size is not None and chunk_size < count else None)
    for storage in drawn:
        storage.write(backend.random.split(storage.read(), 2)[0])
    return transforms.unflatten(made[0], results)
