"""Bucketing: sequences of many lengths in batches of a few lengths."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from graftax.core.errors import ArgumentError, DataError
from graftax.core.short_traceback import door
from graftax.training.arrays import as_arrays
from graftax.training.batch import Batch, pack
from graftax.variables.keys import get_random_seed

Rows = Sequence[Any]


@door
def bucket(
    x: Rows,
    y: Rows | None = None,
    sample_weight: Rows | None = None,
    *,
    sizes: Sequence[int] | None = None,
    batch_size: int = 32,
    pad_value: float = 0,
    shuffle: bool = True,
    weights: str | None = "ones",
) -> Buckets:
    """Return batches of sequences, padded to a few lengths, so that a step is compiled only for these.

    Each sequence goes into the bucket with the least padding. The rest of a bucket that does not fill a batch joins the
    next bucket, so there is one more shape than there are sizes. If ``y`` has the lengths of ``x``, it is padded, too,
    and each batch has weights: 0 for padding, 1 for the rest. The loss is then the mean over the real positions if the
    output has a mask; otherwise, ``weights="mean"`` has this effect. For other targets, the model must mask padding in
    ``x``, by ``Embedding(mask_zero=True)`` or a mask of its own.

    `Model.predict` returns the rows in the order of ``x``, whatever the order of the batches. What is written to the
    data later may have no effect: for other targets or weights, make the batches anew.

    Args:
        x: A list of arrays ``(length, ...)``, or lists of numbers.
        y: Targets, one for each sequence, or for each of its positions. Defaults to None.
        sample_weight: Weights, likewise. Defaults to None.
        sizes: The lengths to pad to; the longest sequence must fit into the largest. Defaults to None: powers of 2.
        batch_size: The number of sequences in a batch. Defaults to 32.
        pad_value: The value of padding in ``x``. Defaults to 0.
        shuffle: Whether each pass has a new order, which depends on the global seed. Defaults to True.
        weights: The weights of real positions: ``"ones"``, or ``"mean"`` for the number of all positions divided by
            that of the real ones, so that the loss of a model without a mask is the mean over real positions. None adds
            no weights, for losses that give one number for a whole sequence, such as those of ranked lists: they must
            leave padding out themselves, by a parameter ``mask=None``. Defaults to ``"ones"``.

    Raises:
        DataError: a sequence is longer than every size, or the parts have different numbers of rows.
        ArgumentError: the sizes or the batch size are invalid, or ``x`` cannot hold ``pad_value``.

    Example:
        >>> batches = bucket([[1, 2, 3], [4], [5, 6]], [0, 1, 0], sizes=[2, 4], batch_size=2, shuffle=False)
        >>> [x.tolist() for x, y in batches]
        [[[4, 0], [5, 6]], [[1, 2, 3, 0]]]
    """
    return Buckets(x, y, sample_weight, sizes, batch_size, pad_value, shuffle, weights)


class Buckets:
    """The result of `bucket`: iterating over it yields the batches of a pass; `len` is their number.

    Example:
        >>> batches = bucket([[1, 2, 3], [4], [5, 6]], sizes=[2, 4])
        >>> len(batches), batches.sizes
        (1, [2, 4])
    """

    def __init__(
        self,
        x: Rows,
        y: Rows | None,
        sample_weight: Rows | None,
        sizes: Sequence[int] | None,
        batch_size: int,
        pad_value: float,
        shuffle: bool,
        weights: str | None = "ones",
    ) -> None:
        if weights not in ("ones", "mean", None):
            raise ArgumentError(
                f"bucket got weights={weights!r:.60}", "they are 'ones', 'mean' or None", 'weights="mean"'
            )
        if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1:
            raise ArgumentError(f"bucket got batch_size={batch_size!r}", "it must be 1 or more", "batch_size=32")
        self._x = _to_rows(x, "x")
        self._y = None if y is None else _to_rows(y, "y")
        self._weight = None if sample_weight is None else _to_rows(sample_weight, "sample_weight")
        for name, part in (("y", self._y), ("sample_weight", self._weight)):
            if part is not None and len(part) != len(self._x):
                raise DataError(
                    f"different numbers of rows: x has {len(self._x)}, {name} has {len(part)}",
                    "row i of each array belongs to the same sample",
                    "cut them to one length",
                )
        lengths = [_length(row, i) for i, row in enumerate(self._x)]
        _require_one_shape("x", [row.shape[1:] for row in self._x], "after its first axis")
        self.sizes = _sizes(sizes, max(lengths))
        _check_pad_value(pad_value, self._x)
        self._batch_size, self._pad, self._shuffle = batch_size, pad_value, shuffle
        self._is_mean, self._adds_weights = weights == "mean", weights is not None
        self._home = [next(i for i, size in enumerate(self.sizes) if length <= size) for length in lengths]
        self._by_position = self._y is not None and all(
            row.ndim > 0 and len(row) == length for row, length in zip(self._y, lengths, strict=True)
        )
        if self._y is not None and not self._by_position:
            _require_one_shape("y", [row.shape for row in self._y], "and not the length of its sequence in each row")
        self._by_position &= any(length != lengths[0] for length in lengths) or lengths[0] > 1
        if self._is_mean and not self._by_position:
            raise DataError(
                'weights="mean", and targets that have not the lengths of x' if y is not None else 'weights="mean"',
                "only targets of each position are padded, and get weights",
                "leave weights out",
            )
        if self._weight is not None:
            self._weight = _check_weights(self._weight, lengths, self._by_position and self._adds_weights)
        self._passes = 0
        self._seed = get_random_seed()

    def __len__(self) -> int:
        return len(self._plan(0))

    def __iter__(self) -> Iterator[Batch]:
        self._passes += 1
        for size, rows in self._plan(self._passes - 1):
            yield self._batch(size, rows)

    def _plan(self, number: int) -> list[tuple[int, list[int]]]:
        """Return the padded length and the rows of each batch of a pass."""
        draw = np.random.default_rng((self._seed, number))
        order = draw.permutation(len(self._x)) if self._shuffle else np.arange(len(self._x))
        plan: list[tuple[int, list[int]]] = []
        left: list[int] = []
        for place, size in enumerate(self.sizes):
            rows = [*left, *(int(i) for i in order if self._home[i] == place)]
            whole = len(rows) - len(rows) % self._batch_size
            plan += [(size, rows[i : i + self._batch_size]) for i in range(0, whole, self._batch_size)]
            left = rows[whole:]
        if left:
            longest = max(self._home[i] for i in left)
            plan.append((self.sizes[longest], left))
        if self._shuffle:
            plan = [plan[int(i)] for i in draw.permutation(len(plan))]
        return plan

    def _batch(self, size: int, rows: list[int]) -> Batch:
        x = np.stack([_pad(self._x[i], size, self._pad) for i in rows])
        if self._y is None:
            return pack(x, None, None if self._weight is None else np.stack([self._weight[i] for i in rows]))
        if not self._by_position:
            weight = None if self._weight is None else np.stack([self._weight[i] for i in rows])
            return pack(x, np.stack([self._y[i] for i in rows]), weight)
        y = np.stack([_pad(self._y[i], size, 0) for i in rows])
        if not self._adds_weights:
            return pack(x, y, None if self._weight is None else np.stack([self._weight[i] for i in rows]))
        real = np.stack([_pad(np.ones(len(self._x[i]), "float32"), size, 0) for i in rows])
        weight = real * (real.size / real.sum()) if self._is_mean else real  # the loss divides by all positions
        if self._weight is not None:
            given = [self._weight[i] for i in rows]
            weight = weight * np.stack([_pad(w, size, 0) if w.ndim else np.full(size, w, "float32") for w in given])
        return x, y, weight

    def row_order(self) -> list[int]:
        """Return the numbers of the rows in the order of the batches of the last pass.

        Example:
            >>> batches = bucket([[1, 2, 3], [4], [5, 6]], sizes=[2, 4], batch_size=2, shuffle=False)
            >>> _ = list(batches)
            >>> batches.row_order()
            [1, 2, 0]
        """
        return [row for _, rows in self._plan(max(self._passes - 1, 0)) for row in rows]

    def get_state(self) -> dict[str, Any]:
        """Return the number of the next pass, and the seed of the orders."""
        return {"seed": self._seed, "passes": self._passes}

    def set_state(self, state: dict[str, Any]) -> None:
        """Continue with that pass."""
        self._seed, self._passes = state["seed"], state["passes"]


def _to_rows(rows: Rows, name: str) -> list[np.ndarray[Any, Any]]:
    found = [np.asarray(as_arrays(row, f"{name}[{i}]")) for i, row in enumerate(rows)]
    if not found:
        raise DataError(f"{name} has no rows", "there is nothing to compute", "at least one row")
    full = {row.dtype for row in found if row.size}
    dtype = np.result_type(*full) if full else None  # an empty list says nothing of what it would hold
    return [row if row.size or dtype is None else row.astype(dtype) for row in found]


def _require_one_shape(name: str, shapes: list[tuple[int, ...]], where: str) -> None:
    other = next((i for i, shape in enumerate(shapes) if shape != shapes[0]), None)
    if other is not None:
        raise DataError(
            f"{name}[0] has shape {shapes[0]}, and {name}[{other}] has shape {shapes[other]}, {where}",
            "rows of a batch become one array, and only the positions of sequences are padded",
            "x with rows of shape (length, ...), and y with one target for each sequence or for each of its positions",
        )


def _check_weights(rows: list[np.ndarray[Any, Any]], lengths: list[int], by_position: bool) -> list[Any]:
    """Return weights as numbers, or as an array of positions for each sequence.

    Raises:
        DataError: they are neither.
    """
    if all(row.size == 1 for row in rows):
        return [row.reshape(()) for row in rows]
    for i, (row, length) in enumerate(zip(rows, lengths, strict=True)):
        if row.ndim and not (by_position and row.shape == (length,)):
            raise DataError(
                f"sample_weight[{i}] has shape {row.shape}, for a sequence of length {length}",
                "a sequence has one weight, or one for each of its positions if the targets have positions, too, and "
                "weights is not None",
                "sample_weight=[1.0, 2.0, ...], a number for each sequence",
            )
    return rows


def _length(row: np.ndarray[Any, Any], number: int) -> int:
    if row.ndim == 0:
        raise DataError(f"x[{number}] is a number", "a sequence has an axis of positions", "x=[[1, 2], [3]]")
    return len(row)


def _sizes(boundaries: Sequence[int] | None, longest: int) -> list[int]:
    if boundaries is None:
        return [2**i for i in range(3, max(3, math.ceil(math.log2(max(longest, 1)))) + 1)]
    if not boundaries or any(isinstance(size, bool) or not isinstance(size, int) or size < 1 for size in boundaries):
        raise ArgumentError(
            f"bucket got sizes={boundaries!r}", "they are lengths, counted from 1 on", "sizes=[32, 64, 128]"
        )
    if longest > max(boundaries):
        raise DataError(
            f"a sequence of length {longest}, and sizes={list(boundaries)!r}",
            "no size holds it, and cutting it is for you to decide",
            f"sizes=[..., {longest}], or x = [row[:{max(boundaries)}] for row in x]",
        )
    return sorted(set(boundaries))


def _pad(row: np.ndarray[Any, Any], size: int, value: float) -> np.ndarray[Any, Any]:
    width = [(0, size - len(row)), *[(0, 0)] * (row.ndim - 1)]
    return np.pad(row, width, constant_values=value)


def _check_pad_value(value: float, rows: list[np.ndarray[Any, Any]]) -> None:
    """Raise if rows cannot hold what they are padded with: NumPy would cut it off, or wrap it around."""
    for dtype in {row.dtype for row in rows}:
        if dtype.kind in "iub" and not (math.isfinite(value) and int(value) == value and _can_hold(dtype, int(value))):
            raise ArgumentError(
                f"bucket got pad_value={value!r} for sequences of dtype {dtype}",
                "they cannot hold it",
                "pad_value=0, or x = [row.astype(...) for row in x]",
            )


def _can_hold(dtype: np.dtype[Any], value: int) -> bool:
    if dtype.kind == "b":
        return value in (0, 1)
    return bool(np.iinfo(dtype).min <= value <= np.iinfo(dtype).max)
