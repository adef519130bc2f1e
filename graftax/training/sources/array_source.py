"""ArraySource: arrays in memory, cut into batches when these are due: what is written to the arrays by then counts."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from graftax.core import tree
from graftax.core.errors import DataError
from graftax.training.arrays import as_arrays, count_rows, take_rows
from graftax.training.batch import NAMES, Batch, pack
from graftax.training.class_weights import ClassWeights
from graftax.training.copied_data import CopiedData
from graftax.training.sources.host_batches import finite_weights
from graftax.training.sources.places import Places
from graftax.training.sources.row_order import RowOrder
from graftax.variables.keys import get_random_seed


class ArraySource:
    """Arrays in memory, cut into batches. The order of an epoch depends on the global seed and the epoch's number.

    Args:
        x: An array, or nested lists, tuples and dicts of arrays, with the same number of rows.
        y: Targets, likewise, or None.
        sample_weight: One number for each row, or None.
        batch_size: The number of rows in a batch; the last one may have fewer.
        shuffle: Whether each epoch has a new order.
        steps: The number of batches in an epoch; each epoch continues where the last one stopped. None for one pass
            over the rows.
        weighted_by: The arguments of the user that gave the weights.
        class_weights: Weights of rows by the class of their target, which are multiplied by those of the rows.

    Raises:
        DataError: there are no rows, or different numbers of rows.
    """

    def __init__(
        self,
        x: object,
        y: object,
        sample_weight: object,
        batch_size: int,
        shuffle: bool,
        steps: int | None = None,
        weighted_by: tuple[str, ...] = (),
        class_weights: ClassWeights | None = None,
    ) -> None:
        self.weighted_by = weighted_by
        self.class_weights = class_weights
        self._data = (
            as_arrays(x, "x", follows=True),
            as_arrays(y, "y", keeps_integers=True, follows=True),
            finite_weights(sample_weight, follows=True),
        )
        given: dict[str, Any] = dict(zip(NAMES, (x, y, sample_weight), strict=True))
        arrays: dict[str, Any] = dict(zip(NAMES, self._data, strict=True))
        self.copied = CopiedData(given, arrays)
        self.rows = count_rows(**arrays)
        self._batch_size = batch_size
        self._full = min(batch_size, self.rows)
        self.shuffle = shuffle
        self._seed = get_random_seed()
        self._places = Places(batch_size, steps)
        self._per_pass = self._places.per_pass(self.rows)
        self.steps = steps or self._per_pass

    def steps_in(self, epoch: int, start: int = 0) -> int:
        """Return the number of batches in an epoch: other than `steps`, if a run is resumed in it with others."""
        return self._places.steps_in(epoch, self.rows)

    def require_one_pass(self) -> None:
        """Raise if there are more steps than batches, so that rows would be used twice.

        Raises:
            DataError: there are more steps; the message has both numbers.
        """
        if self.steps > self._per_pass:
            raise DataError(
                f"{self.steps} steps over {self.rows} rows, which are {self._per_pass} batches of {self._batch_size}",
                "some rows would be used more than once",
                f"{self._per_pass} steps, or leave it out for all",
            )

    def epoch(self, number: int, start: int = 0) -> Iterator[Batch]:
        """Yield the batches of an epoch, from batch ``start`` on."""
        for rows, _ in self._rows_of(number, start):
            yield self._batch(rows)

    def _rows_of(self, number: int, start: int) -> Iterator[tuple[Any, bool]]:
        """Yield the rows of each batch, and whether the batch is full."""
        order: RowOrder | None = None
        present: int | None = None
        for number_of_pass, begin, end in self._places.pieces(number, start, self.rows):
            if number_of_pass != present:
                present, order = number_of_pass, self._order(number_of_pass)
            rows = slice(begin, end)
            yield rows if order is None else order[rows], end - begin == self._full

    def _batch(self, rows: Any) -> Batch:
        x, y, sample_weight = (take_rows(part, rows) for part in self._data)
        if self.class_weights is not None:
            sample_weight = self.class_weights.times(y, sample_weight)
        return pack(x, y, sample_weight)

    def epoch_in_groups(self, number: int, start: int, size: int) -> Iterator[tuple[Batch, int]]:
        """Yield the batches of an epoch in groups of ``size`` full ones, or single, each with their number.

        Arrays of a group have an additional first axis of batches; those of a single batch do not.
        """
        held: list[Any] = []
        for rows, is_full in self._rows_of(number, start):
            if not is_full:
                yield from ((self._batch(one), 1) for one in [*held, rows])
                held = []
                continue
            held.append(rows)
            if len(held) == size:
                yield self._take_together(held), size
                held = []
        yield from ((self._batch(one), 1) for one in held)

    def _take_together(self, selections: list[Any]) -> Batch:
        if isinstance(selections[0], slice):
            follow = all(one.stop == other.start for one, other in pairwise(selections))
            rows: Any = (
                slice(selections[0].start, selections[-1].stop)
                if follow
                else np.concatenate([np.r_[one] for one in selections])
            )
        else:
            rows = np.concatenate(selections)
        found = self._batch(rows)
        shape = (len(selections), self._full)
        return tree.map_structure(lambda leaf: None if leaf is None else leaf.reshape(*shape, *leaf.shape[1:]), found)  # type: ignore[no-any-return]

    def _order(self, number_of_pass: int) -> RowOrder | None:
        return RowOrder((self._seed, number_of_pass), self.rows) if self.shuffle else None

    def example(self) -> Batch:
        """Return the first batch."""
        rows, order = slice(0, self._full), self._order(0)
        return self._batch(rows if order is None else order[rows])

    def get_state(self, index: int = 0, epoch: int | None = None) -> dict[str, Any]:
        """Return the seed, which determines the order of each pass, and the place in the rows."""
        at = self._places.tell(epoch or 0, index, self.rows)
        return {"seed": self._seed, "rows": self.rows, "shuffle": self.shuffle, "at": at}

    def set_state(self, state: dict[str, Any]) -> None:
        """Continue with the orders of that seed, behind the rows that were used.

        Raises:
            DataError: the number of rows has changed, or their order within a pass.
        """
        if state["rows"] != self.rows:
            raise DataError(
                f"a run over {state['rows']} rows, resumed with {self.rows}",
                "which rows come next is known for the same data only",
                "the same data; or restore model and optimizer, and begin another run: fit(initial_epoch=...)",
            )
        self._places.set_state(state, self.rows, self.shuffle)
        self._seed = state["seed"]
