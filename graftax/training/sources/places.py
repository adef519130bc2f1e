"""Places: which rows are in which batch of which epoch; in a run that is resumed, behind the rows that were trained."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from graftax.core.errors import DataError


class Piece(NamedTuple):
    """The rows of a batch: those from ``begin`` to ``end`` in the order of a pass."""

    number_of_pass: int
    begin: int
    end: int


class _Known(NamedTuple):
    """A place in the data that is known: behind ``done`` batches of an epoch, ``row`` rows of a pass are used."""

    epoch: int
    done: int
    number_of_pass: int
    row: int


class Places:
    """The places of batches in passes over rows, counted in rows, so that a resumed run may have other batches.

    Args:
        batch_size: The number of rows in a batch; the last one of a pass may have fewer.
        steps: The number of batches in an epoch; each epoch continues where the last one stopped. None for one pass.

    Example:
        >>> first = Places(2, None)
        >>> list(first.pieces(0, 0, 5))
        [Piece(number_of_pass=0, begin=0, end=2), Piece(number_of_pass=0, begin=2, end=4), Piece(number_of_pass=0, \
begin=4, end=5)]
        >>> other = Places(3, None)
        >>> other.set_state({"at": first.tell(0, 1, 5)}, 5, shuffle=False)
        >>> list(other.pieces(0, 1, 5))
        [Piece(number_of_pass=0, begin=2, end=5)]
    """

    def __init__(self, batch_size: int, steps: int | None) -> None:
        self._batch_size, self._steps = batch_size, steps
        self._known = _Known(0, 0, 0, 0)

    def per_pass(self, rows: int) -> int:
        """Return the number of batches in a whole pass."""
        return math.ceil(rows / self._batch_size)

    def steps_in(self, epoch: int, rows: int) -> int:
        """Return the number of batches in an epoch, including those before the place where a run is resumed."""
        if self._steps is not None:
            return self._steps
        if epoch != self._known.epoch:
            return self.per_pass(rows)
        return self._known.done + self.per_pass(rows - self._known.row)

    def pieces(self, epoch: int, start: int, rows: int) -> Iterator[Piece]:
        """Yield the rows of the batches of an epoch, from batch ``start`` on."""
        for index in range(start, self.steps_in(epoch, rows)):
            number_of_pass, row = self._find(epoch, index, rows)
            if row >= rows:
                number_of_pass, row = number_of_pass + 1, 0
            yield Piece(number_of_pass, row, min(row + self._batch_size, rows))

    def _find(self, epoch: int, index: int, rows: int) -> tuple[int, int]:
        """Return the pass behind ``index`` batches of an epoch, and how many of its rows are used."""
        known, size = self._known, self._batch_size
        epochs = epoch - known.epoch
        if self._steps is None and epochs:
            return known.number_of_pass + epochs, min(index * size, rows)
        ahead = index - known.done
        if self._steps is not None and epochs:
            ahead = max(self._steps - known.done, 0) + (epochs - 1) * self._steps + index
        left = self.per_pass(rows - known.row)
        if ahead <= left:
            return known.number_of_pass, min(known.row + ahead * size, rows)
        passes, last = divmod(ahead - left - 1, self.per_pass(rows))
        return known.number_of_pass + 1 + passes, min((last + 1) * size, rows)

    def tell(self, epoch: int, index: int, rows: int) -> list[int]:
        """Return the place behind ``index`` batches of an epoch, in a form that can be saved."""
        number_of_pass, row = self._find(epoch, index, rows)
        if index == 0 and row >= rows:
            number_of_pass, row = number_of_pass + 1, 0
        return [epoch, index, number_of_pass, row]

    def set_state(self, state: Mapping[str, Any], rows: int, shuffle: bool) -> None:
        """Continue behind the place of a saved state, if it has one; earlier versions counted batches only.

        Args:
            state: The state of a source: ``at`` is a result of `tell`, and ``shuffle`` tells how rows were ordered.
            rows: The number of rows in a pass.
            shuffle: Whether each pass has a new order now.

        Raises:
            DataError: the rest of a pass would come in another order.
        """
        if "at" not in state:
            return
        known = _Known(*state["at"])
        saved = state.get("shuffle", shuffle)
        if 0 < known.row < rows and saved != shuffle:
            alone = "" if self._steps is None else " without steps_per_epoch"
            raise DataError(
                f"a run with shuffle={saved} that ended after {known.row} of {rows} rows of a pass, resumed with "
                f"shuffle={shuffle}",
                "the rest of the pass would come in another order: rows would be left out, and others come twice",
                f"fit(..., shuffle={saved}, epochs={known.epoch + 1}){alone}, which ends the pass; then another order",
            )
        self._known = known
