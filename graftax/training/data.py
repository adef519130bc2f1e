"""Training data as batches: arrays in memory, or anything that can be iterated over."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

import numpy as np

from graftax import tree
from graftax.errors import DataError
from graftax.typedefs import VariableLike
from graftax.variables.keys import get_random_seed

Batch = tuple[Any, ...]
"""``(x,)``, ``(x, y)`` or ``(x, y, sample_weight)``."""

Parts = tuple[Any, Any, Any]
"""Inputs, targets or None, sample weights or None."""


class Source(Protocol):
    """Where batches come from."""

    @property
    def steps(self) -> int | None:
        """Batches in an epoch, or None if nobody knows before the end."""
        ...

    def epoch(self, number: int) -> Iterator[Batch]:
        """The batches of an epoch, counted from 0."""
        ...


def unpack(batch: Any) -> Parts:
    """``x``, ``(x,)``, ``(x, y)`` or ``(x, y, sample_weight)`` as a triple.

    Raises:
        DataError: a tuple of another length.
    """
    if not isinstance(batch, tuple):
        return batch, None, None
    if not 1 <= len(batch) <= 3:
        raise DataError(
            f"a batch that is a tuple of {len(batch)}",
            "a batch is x, (x, y) or (x, y, sample_weight)",
            "several inputs go into a list or dict: ({'a': ..., 'b': ...}, y)",
        )
    x, y, sample_weight = (*batch, None, None)[:3]
    return x, y, sample_weight


def pack(x: Any, y: Any = None, sample_weight: Any = None) -> Batch:
    """A batch without the parts that are missing at its end."""
    if sample_weight is not None:
        return x, y, sample_weight
    return (x,) if y is None else (x, y)


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
        self, x: Any, y: Any, sample_weight: Any, batch_size: int, shuffle: bool, steps: int | None = None
    ) -> None:
        if not isinstance(batch_size, int) or batch_size < 1:
            raise DataError(f"batch_size={batch_size!r}", "a batch has at least one row", "batch_size=32")
        if steps is not None and steps < 1:
            raise DataError(f"steps_per_epoch={steps!r}", "an epoch has at least one step", "steps_per_epoch=None")
        self._data = (as_arrays(x, "x"), as_arrays(y, "y"), as_arrays(sample_weight, "sample_weight"))
        self.rows = count_rows(*self._data)
        self._batch_size = batch_size
        self._shuffle = shuffle
        self._per_pass = math.ceil(self.rows / batch_size)
        self.steps = steps or self._per_pass

    def epoch(self, number: int) -> Iterator[Batch]:
        """The batches of an epoch."""
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
        batches: Yields ``x``, ``(x, y)`` or ``(x, y, sample_weight)``.
        steps: Batches in an epoch; all there are, unless told.
    """

    def __init__(self, batches: Iterable[Any], steps: int | None = None) -> None:
        self._batches = batches
        self._goes_on = isinstance(batches, Iterator)
        length = getattr(batches, "__len__", None)
        self.steps = steps or (length() if length is not None else None)
        self._stream: Iterator[Any] | None = None

    def epoch(self, number: int) -> Iterator[Batch]:
        """The batches of an epoch; fewer than ``steps``, or none, once the iterable has ended."""
        if self._stream is None or not self._goes_on:
            self._stream = iter(self._batches)
        for batch in itertools.islice(self._stream, self.steps):
            yield pack(*(as_arrays(part, name) for part, name in zip(unpack(batch), _NAMES, strict=True)))


_NAMES = ("x", "y", "sample_weight")


def make_source(x: Any, y: Any, sample_weight: Any, batch_size: int | None, shuffle: bool, steps: int | None) -> Source:
    """The source for what the user gave: arrays, or an iterable of batches.

    Raises:
        DataError: an iterable together with ``y`` or ``sample_weight``, or something else altogether.
    """
    if x is None:
        raise DataError("x is None", "there is nothing to iterate over", "model.fit(x, y), or model.fit(batches)")
    if is_arrays(x) and not (y is None and _is_batches(x)):
        return ArraySource(x, y, sample_weight, 32 if batch_size is None else batch_size, shuffle, steps)
    if isinstance(x, Iterable):
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
        return IterableSource(x, steps)
    raise DataError(
        f"x is of type {type(x).__name__}",
        "it is neither an array, nor a nest of arrays, nor an iterable of batches",
        "np.asarray(x)",
    )


def is_arrays(x: Any) -> bool:
    """True for an array and for nested containers of arrays and numbers."""
    if isinstance(x, list | tuple | dict):
        leaves = tree.flatten(x)
        return bool(leaves) and all(_is_array(leaf) or isinstance(leaf, bool | int | float) for leaf in leaves)
    return _is_array(x)


def _is_batches(x: Any) -> bool:
    """True for a list of ``(x, y)`` or ``(x, y, sample_weight)`` tuples of arrays."""
    return isinstance(x, list) and all(
        isinstance(b, tuple) and 2 <= len(b) <= 3 and not isinstance(b[0], bool | int | float) for b in x
    )


def _is_array(x: Any) -> bool:
    return hasattr(x, "shape") and hasattr(x, "dtype") and not isinstance(x, type)


def as_arrays(data: Any, name: str) -> Any:
    """Host arrays of 32 bits at most, in the same structure; plain lists of numbers become one array.

    Raises:
        DataError: something in it is no array of numbers.
    """
    if data is None:
        return None
    if isinstance(data, list | tuple) and data and all(isinstance(v, bool | int | float | list | tuple) for v in data):
        try:
            return _host(np.asarray(data), name)
        except ValueError:
            pass  # ragged: a structure of arrays after all
    return tree.map_structure(lambda leaf: _host(leaf, name), data)


def _host(leaf: Any, name: str) -> np.ndarray[Any, Any]:
    if isinstance(leaf, VariableLike):
        leaf = leaf.value
    if type(leaf).__module__.startswith("torch"):
        leaf = leaf.detach().cpu().numpy()
    array = np.asarray(leaf)
    if array.dtype.kind not in "biufcV":  # V: bfloat16 and its kin
        raise DataError(
            f"{name} holds an array of dtype {array.dtype}",
            "models compute with numbers",
            "map texts and objects to numbers first",
        )
    wide = {"float64": "float32", "int64": "int32", "uint64": "uint32", "complex128": "complex64"}
    return array.astype(wide[array.dtype.name]) if array.dtype.name in wide else array


def take_rows(data: Any, rows: Any) -> Any:
    """The same rows of every array of a structure."""
    return None if data is None else tree.map_structure(lambda array: array[rows], data)


def count_rows(x: Any, y: Any = None, sample_weight: Any = None) -> int:
    """The number of rows, the same in every array.

    Raises:
        DataError: the numbers differ, or there are none.
    """
    sizes: dict[str, int] = {}
    for name, part in zip(_NAMES, (x, y, sample_weight), strict=True):
        if part is None:
            continue
        for path, leaf in tree.flatten_with_paths(part):
            if not leaf.shape:
                raise DataError(f"{name} is a single number", "rows are counted along the first axis", f"{name}[None]")
            sizes[f"{name}/{path}" if path else name] = leaf.shape[0]
    if len(set(sizes.values())) > 1:
        listed = ", ".join(f"{name} has {rows}" for name, rows in sizes.items())
        raise DataError(
            f"different numbers of rows: {listed}", "row i of each belongs together", "cut them to one length"
        )
    rows = next(iter(sizes.values()), 0)
    if rows == 0:
        raise DataError("no rows at all", "there is nothing to compute", "at least one row")
    return rows


def split_validation(x: Any, y: Any, sample_weight: Any, fraction: float) -> tuple[Parts, Parts]:
    """The last part of the rows, before any shuffle, is for validation.

    Raises:
        DataError: not arrays, or nothing would be left for one side.
    """
    if not is_arrays(x):
        raise DataError(
            f"validation_split={fraction} for a {type(x).__name__}",
            "only arrays can be split",
            "validation_data=(x_val, y_val)",
        )
    data = (as_arrays(x, "x"), as_arrays(y, "y"), as_arrays(sample_weight, "sample_weight"))
    rows = count_rows(*data)
    cut = math.floor(rows * (1 - fraction))
    if not 0 < fraction < 1 or cut < 1 or cut >= rows:
        raise DataError(
            f"validation_split={fraction} of {rows} rows", "both parts need a row", "a fraction such as 0.2"
        )
    head, tail = slice(0, cut), slice(cut, rows)
    x, y, sample_weight = (take_rows(part, head) for part in data)
    x_val, y_val, weight_val = (take_rows(part, tail) for part in data)
    return (x, y, sample_weight), (x_val, y_val, weight_val)


def weights_of_classes(y: Any, class_weight: Mapping[int, float]) -> np.ndarray[Any, Any]:
    """A weight for each row from the weight of its class; a class that is not named counts 1.

    Raises:
        DataError: the targets are not class numbers or one-hot rows.
    """
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] > 1:
        labels = labels.argmax(axis=1)
    labels = labels.reshape(len(labels), -1)
    if labels.shape[1] != 1:
        raise DataError(
            f"class_weight for targets of shape {np.shape(y)}", "they are not one class a row", "sample_weight="
        )
    return np.asarray([class_weight.get(int(label), 1.0) for label in labels[:, 0]], "float32")
