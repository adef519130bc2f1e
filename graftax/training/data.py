"""Where batches come from: arrays in memory, or anything that can be iterated over."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from typing import Any, Protocol

import numpy as np

from graftax.core import tree
from graftax.core.errors import DataError
from graftax.objectives.targets import check_weights
from graftax.training.arrays import as_arrays, count_rows, is_array, is_arrays, take_rows, written
from graftax.training.batch import NAMES, Batch, Parts, is_list_of_batches, pack, parts_of_validation, unpack
from graftax.training.class_weights import ClassWeights
from graftax.variables.keys import get_random_seed


class Source(Protocol):
    """Where batches come from."""

    @property
    def steps(self) -> int | None:
        """Return how many batches an epoch has, or None if nobody knows before the end."""
        ...

    def epoch(self, number: int) -> Iterator[Batch]:
        """Yield the batches of an epoch, counted from 0."""
        ...


class ArraySource:
    """Arrays in memory, cut into batches; the order of an epoch follows from the global seed and the epoch's number.

    Args:
        x: An array, or nested lists, tuples and dicts of arrays, with the same number of rows.
        y: Targets, likewise, or None.
        sample_weight: One number for each row, or None.
        batch_size: Rows in a batch; the last one may have fewer.
        shuffle: A new order in each epoch.
        steps: Batches in an epoch if not one pass over the rows; the stream goes on where the last epoch stopped.

    Raises:
        DataError: no rows, or different numbers of rows.
    """

    def __init__(
        self, x: object, y: object, sample_weight: object, batch_size: int, shuffle: bool, steps: int | None = None
    ) -> None:
        self._data = (as_arrays(x, "x"), as_arrays(y, "y"), finite_weights(sample_weight))
        self.rows = count_rows(**dict(zip(NAMES, self._data, strict=True)))
        self._batch_size = batch_size
        self._shuffle = shuffle
        self._per_pass = math.ceil(self.rows / batch_size)
        self.steps = steps or self._per_pass

    def require_one_pass(self) -> None:
        """Raise if there are more steps than batches: rows would count twice.

        Raises:
            DataError: names both numbers.
        """
        if self.steps > self._per_pass:
            raise DataError(
                f"{self.steps} steps over {self.rows} rows, which are {self._per_pass} batches of {self._batch_size}",
                "rows would come, and count, more than once",
                f"{self._per_pass} steps, or leave it out for all",
            )

    def epoch(self, number: int) -> Iterator[Batch]:
        """Yield the batches of an epoch."""
        first = number * self.steps
        order: Any = None
        for position in range(first, first + self.steps):
            number_of_pass, step = divmod(position, self._per_pass)
            if step == 0 or position == first:
                order = self._order(number_of_pass)
            rows: Any = slice(step * self._batch_size, (step + 1) * self._batch_size)
            if order is not None:
                rows = order[rows]
            yield pack(*(take_rows(part, rows) for part in self._data))

    def _order(self, number_of_pass: int) -> np.ndarray[Any, Any] | None:
        if not self._shuffle:
            return None
        return np.random.default_rng((get_random_seed(), number_of_pass)).permutation(self.rows)


class IterableSource:
    """Batches from an iterable: a list or loader starts anew each epoch, an iterator or generator goes on.

    Args:
        batches: Yields ``x``, ``(x, y)`` or ``(x, y, sample_weight)``; lists do as well as tuples.
        steps: Batches in an epoch; all there are, unless told.
        class_weights: Weights for the rows, by the class of their target.
    """

    def __init__(
        self, batches: Iterable[Any], steps: int | None = None, class_weights: ClassWeights | None = None
    ) -> None:
        self._batches = batches
        self.goes_on = isinstance(batches, Iterator)
        self._class_weights = class_weights
        self.steps = steps or _length(batches)
        self._stream: Iterator[Any] | None = None

    def epoch(self, number: int) -> Iterator[Batch]:
        """Yield the batches of an epoch; fewer than ``steps``, or none, once the iterable has ended."""
        if self._stream is None or not self.goes_on:
            self._stream = iter(self._batches)
        for batch in itertools.islice(self._stream, self.steps):
            yield host_batch(*unpack(batch), self._class_weights)


def host_batch(
    x: object, y: object = None, sample_weight: object = None, class_weights: ClassWeights | None = None
) -> Batch:
    """Return the parts of one batch as arrays of the host, weighted by class where that is wanted."""
    x, y, sample_weight = as_arrays(x, "x"), as_arrays(y, "y"), finite_weights(sample_weight)
    if class_weights is not None:
        sample_weight = class_weights.times(y, sample_weight)
    return pack(x, y, sample_weight)


def finite_weights(sample_weight: object) -> Any:
    """Return sample weights as arrays of the host.

    Raises:
        ArgumentError: a weight is nan or infinite; names its row.
    """
    found = as_arrays(sample_weight, "sample_weight")
    for path, leaf in tree.flatten_with_paths(found):
        if leaf is not None:
            check_weights(leaf, written("sample_weight", path))
    return found


def _length(batches: Any) -> int | None:
    try:
        return len(batches)
    except TypeError:  # it has none, or a loader over a stream says that it does not know
        return None


def make_source(
    x: Any,
    y: Any,
    sample_weight: object,
    batch_size: int | None,
    shuffle: bool,
    steps: int | None,
    class_weights: ClassWeights | None = None,
) -> Source:
    """Return the source for what the user gave: arrays, or an iterable of batches.

    Raises:
        DataError: an iterable together with ``y`` or ``sample_weight``, or something else altogether.
    """
    if x is None:
        raise DataError("x is None", "there is nothing to iterate over", "model.fit(x, y), or model.fit(batches)")
    if is_arrays(x) and not (is_list_of_batches(x) and (y is None or isinstance(x[0], tuple))):
        if class_weights is not None:
            y = as_arrays(y, "y")
            class_weights.require_all(y)
            sample_weight = class_weights.times(y, as_arrays(sample_weight, "sample_weight"))
        return ArraySource(x, y, sample_weight, 32 if batch_size is None else batch_size, shuffle, steps)
    if not isinstance(x, Iterable) or isinstance(x, str | bytes | PathLike | Mapping | set | frozenset):
        raise _no_data(x)
    if isinstance(x, list | tuple) and not is_list_of_batches(x):
        raise _no_data(x)
    if y is not None or sample_weight is not None:
        raise DataError(
            f"x is a {type(x).__name__} that yields batches, and y or sample_weight was given as well",
            "each batch brings its own targets and weights",
            "yield (x, y) or (x, y, sample_weight)",
        )
    if batch_size is not None:
        raise DataError(
            f"batch_size={batch_size} for a {type(x).__name__} that yields batches",
            "its batches have their size already",
            "leave batch_size out",
        )
    return IterableSource(x, steps, class_weights)


def once(x: object, y: object, sample_weight: object, batch_size: int | None, steps: int | None) -> Source:
    """Return the source for one pass over what the user gave, in its order.

    Raises:
        DataError: as `make_source`, or there are more steps than batches.
    """
    source = make_source(x, y, sample_weight, batch_size, shuffle=False, steps=steps)
    if isinstance(source, ArraySource):
        source.require_one_pass()
    return source


def _gives_batches(x: Any) -> bool:
    """Tell whether it has an index for each batch, as a PyDataset of Keras: its parts have rows in common."""
    if any(base.__name__ in ("PyDataset", "Sequence") and base.__module__ != "typing" for base in type(x).__mro__):
        return True
    if any(base.__name__ == "Dataset" and base.__module__.startswith("torch.") for base in type(x).__mro__):
        return False  # one sample for an index, whatever shape that has
    try:
        item = x[0]
    except Exception:  # noqa: BLE001 - what it does there is not what was asked for
        return False
    leaves = [leaf for leaf in tree.flatten(item) if leaf is not None] if isinstance(item, tuple | list | dict) else []
    shapes = [tuple(leaf.shape) for leaf in leaves if is_array(leaf)]
    return len(shapes) == len(leaves) > 1 and all(shapes) and len({shape[0] for shape in shapes}) == 1


def _no_data(x: object) -> DataError:
    kind = type(x).__name__
    if not isinstance(x, Iterable) and hasattr(x, "__getitem__") and hasattr(x, "__len__"):
        if _gives_batches(x):
            return DataError(
                f"x is of type {kind}, which gives a batch for an index",
                "it cannot be iterated over, and nothing else says where its batches end",
                "def __iter__(self): return (self[i] for i in range(len(self))) in its class; for one epoch "
                "(x[i] for i in range(len(x)))",
            )
        return DataError(
            f"x is of type {kind}, which gives one sample for an index",
            "nothing says how many samples are a batch",
            "a loader around it that yields batches, such as torch.utils.data.DataLoader(x, batch_size=32)",
        )
    if callable(x) and not isinstance(x, Iterable):
        return DataError(f"x is of type {kind}", "it is to be called for what yields batches", "model.fit(x())")
    inside = " with something in it that is no array" if isinstance(x, list | tuple | dict) else ""
    return DataError(
        f"x is of type {kind}{inside}",
        "it is neither an array, nor a nest of arrays, nor an iterable of batches",
        "np.asarray(x), or a list of (x, y)",
    )


ANEW = "a list of batches, list(batches), or an object whose __iter__ starts anew; an iterator runs once"
"""What to give in place of an iterator that has come to its end."""


def goes_on(source: Source) -> bool:
    """Tell whether a source is an iterator, which comes to its end once and does not start anew."""
    return isinstance(source, IterableSource) and source.goes_on


def require_enough(source: Source | None, validations: int) -> None:
    """Raise if an iterator is to be run through to its end more than once.

    Args:
        source: Where batches for validation come from.
        validations: How many there will be.

    Raises:
        DataError: the second validation would have no batch.
    """
    if validations > 1 and source is not None and goes_on(source) and source.steps is None:
        raise DataError(
            f"validation_data is an iterator, for {validations} validations",
            "it runs once: the first validation would use it up, and the next one have no batch",
            "validation_data=list(batches); or validation_steps=..., with an iterator that has enough for all",
        )


def validation_source(given: object, batch_size: int | None, fallback: int | None, steps: int | None) -> Source | None:
    """Return the source for ``validation_data``: a tuple or list of arrays, an iterable of batches, or None.

    Args:
        given: What the user gave.
        batch_size: Rows in a batch, as given for validation; for arrays.
        fallback: Rows in a batch where that is None.
        steps: Batches in a validation, if not all.
    """
    if given is None:
        return None
    parts = parts_of_validation(given)
    if parts is None and is_arrays(given) and not is_list_of_batches(given):
        parts = given, None, None
    if parts is None:
        return make_source(given, None, None, batch_size, shuffle=False, steps=steps)
    return once(*parts, fallback if batch_size is None else batch_size, steps)


def split_validation(x: object, y: object, sample_weight: object, fraction: float) -> tuple[Parts, Parts]:
    """Split off the last part of the rows, before any shuffle, for validation.

    Raises:
        DataError: not arrays, or nothing would be left for one side.
    """
    if not is_arrays(x) or (y is None and is_list_of_batches(x)):
        raise DataError(
            f"validation_split={fraction} for a {type(x).__name__}{' of batches' if isinstance(x, list) else ''}",
            "only arrays can be split",
            "validation_data=(x_val, y_val), or batches of their own: validation_data=batches",
        )
    data = (as_arrays(x, "x"), as_arrays(y, "y"), as_arrays(sample_weight, "sample_weight"))
    rows = count_rows(**dict(zip(NAMES, data, strict=True)))
    cut = math.floor(rows * (1 - fraction))
    if not 0 < fraction < 1 or cut < 1 or cut >= rows:
        raise DataError(
            f"validation_split={fraction} of {rows} rows", "both parts need a row", "a fraction such as 0.2"
        )
    head, tail = slice(0, cut), slice(cut, rows)
    x, y, sample_weight = (take_rows(part, head) for part in data)
    x_val, y_val, weight_val = (take_rows(part, tail) for part in data)
    return (x, y, sample_weight), (x_val, y_val, weight_val)
