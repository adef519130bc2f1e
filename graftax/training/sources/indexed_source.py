"""IndexedSource: a data set that gives a sample, or a batch, for an index."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from os import PathLike
from typing import Any

import numpy as np

from graftax.core import tree
from graftax.core.errors import DataError, GraftaxError
from graftax.training.arrays import is_array
from graftax.training.batch import Batch, unpack, weighing_arguments
from graftax.training.class_weights import ClassWeights
from graftax.training.narrowing import in_present_width
from graftax.training.sources import fingerprint
from graftax.training.sources.host_batches import Alike, host_batch
from graftax.training.sources.named_columns import IndexedColumns, is_table_of_rows
from graftax.training.sources.places import Piece, Places
from graftax.training.sources.samples import collate
from graftax.training.sources.wrapper import InOrder, as_they_are
from graftax.variables.keys import get_random_seed

_OF_KERAS = ("PyDataset", "Sequence")


def has_index(x: object) -> bool:
    """Return whether an object has samples or batches by index, and does not yield batches as an iterable."""
    if isinstance(x, str | bytes | PathLike | Mapping | set | frozenset | list | tuple | type) or is_array(x):
        return False
    if not all(callable(getattr(type(x), name, None)) for name in ("__getitem__", "__len__")):
        return False
    return not isinstance(x, Iterable) or _is_called(x, _OF_KERAS) or _is_rows(x)


def gives_batches(x: Any, batch_size: int | None) -> bool:
    """Return whether indexing gives a batch, as for a PyDataset of Keras, rather than a sample, as for a torch Dataset.

    Raises:
        DataError: neither the class nor a ``batch_size`` decides this.
    """
    if _is_called(x, _OF_KERAS):
        return True
    if batch_size is not None or _is_rows(x) or any(_is_of_torch(base) for base in type(x).__mro__):
        return False
    try:
        item = x[0]
    except Exception:  # noqa: BLE001 - it is told when the source reads it
        return False
    leaves = [leaf for leaf in tree.flatten(item) if leaf is not None] if isinstance(item, tuple | list | dict) else []
    shapes = [tuple(leaf.shape) for leaf in leaves if is_array(leaf)]
    if len(shapes) == len(leaves) > 1 and all(shapes) and len({shape[0] for shape in shapes}) == 1:
        raise DataError(
            f"x is of type {type(x).__name__}, and x[i] may be a batch, or a sample of arrays of one length",
            "its class does not say which",
            "def __iter__(self): return (self[i] for i in range(len(self))) in its class for batches, or for one epoch "
            "(x[i] for i in range(len(x))); batch_size=32 for samples",
        )
    return False


def _is_called(x: Any, names: tuple[str, ...]) -> bool:
    return any(base.__name__ in names and base.__module__ != "typing" for base in type(x).__mro__)


def _is_of_torch(base: type[Any]) -> bool:
    return base.__name__ == "Dataset" and base.__module__.startswith("torch.")


def _is_rows(x: object) -> bool:
    """Return whether it is a data set of Hugging Face, which yields single rows."""
    return isinstance(x, IndexedColumns) or is_table_of_rows(x)


class IndexedSource:
    """Samples or batches by index. The order of an epoch depends on the global seed and the epoch's number.

    Args:
        data: Returns a sample, or a batch, for an index. Its ``workers`` and ``max_queue_size``, if it has them, as a
            PyDataset does, are the number of threads that prefetch, and of prefetched entries.
        batch_size: The number of samples in a batch; None for data that return batches.
        shuffle: Whether each epoch has a new order.
        steps: The number of batches in an epoch; None for all.
        class_weights: Weights of rows by the class of their target.

    Raises:
        DataError: the data are empty, or ask for worker processes.
    """

    def __init__(
        self,
        data: Any,
        batch_size: int | None,
        shuffle: bool,
        steps: int | None = None,
        class_weights: ClassWeights | None = None,
    ) -> None:
        if getattr(data, "use_multiprocessing", False):
            raise DataError(
                f"{type(data).__name__} with use_multiprocessing=True",
                "fit reads ahead in threads, which share what the data set has open",
                "workers=4 without it; or torch.utils.data.DataLoader(..., num_workers=4), which has processes",
            )
        self._data, self._batch_size, self.shuffle = data, batch_size, shuffle
        self.in_order: InOrder = as_they_are
        self.class_weights = class_weights
        self.weighted_by = weighing_arguments(None, class_weights)
        self._seed = get_random_seed()
        self._alike = Alike()
        self.remembers = False  # whether it is looked after each pass whether the data have changed, for a checkpoint
        self._pass: Any = None  # the state of the data before the present pass
        self._seen: set[int] = set()  # fingerprints of some entries, before each pass
        self._steps = steps
        self._places = Places(batch_size or 1, steps)  # a batch that the data return counts as a row
        self._size = self._known = len(data)
        if self._size == 0:
            raise DataError(
                f"a {type(data).__name__} of length 0", "there is nothing to compute", "at least one sample"
            )

    @property
    def steps(self) -> int:
        """Return the number of batches in an epoch: the given one, else the present one, since data may grow."""
        return self._steps or self._places.per_pass(len(self._data))

    def steps_in(self, epoch: int, start: int = 0) -> int:
        """Return the number of batches in an epoch: other than `steps`, if a run is resumed in it with others."""
        return self._places.steps_in(epoch, len(self._data))

    def put_in_order(self, by: InOrder) -> None:
        """Let a function put the columns of tables in order, before they become arrays."""
        self.in_order = by

    def epoch(self, number: int, start: int = 0) -> Iterator[Batch]:
        """Yield the batches of an epoch, from batch ``start`` on."""
        self._pass = self._data_state()
        self._look()
        if callable(begin := getattr(self._data, "on_epoch_begin", None)):
            begin()
        self._size = self._length_now()
        pieces = self._places.pieces(number, start, self._size)
        for i, batch in enumerate(_read_ahead(pieces, self._read, self._data), start):
            try:
                found = host_batch(*self.in_order(unpack(batch)), self.class_weights)
                found = self._alike.take(found, i)
            except GraftaxError as error:
                error.add_context(f"batch {i} of epoch {number + 1} of the {type(self._data).__name__}")
                raise
            yield found
        if callable(end := getattr(self._data, "on_epoch_end", None)):
            end()

    def _length_now(self) -> int:
        """Return the length for an epoch; raise if it has changed and epochs are not whole passes."""
        size = len(self._data)
        if self._steps is not None and size != self._known:
            raise DataError(
                f"a {type(self._data).__name__} of length {size} that had {self._known} when fit began",
                f"with steps_per_epoch={self._steps} an epoch goes on where the one before ended, and that place is "
                "known for one length only",
                "leave steps_per_epoch out: an epoch is then as long as the data are when it begins",
            )
        return size

    def _read(self, piece: Piece) -> Any:
        order = self._order(piece.number_of_pass, self._size)
        indices = [int(i) for i in order[piece.begin : piece.end]]
        try:
            return self._data[indices[0]] if self._batch_size is None else collate(self._data, indices)
        except IndexError as error:
            kind = type(self._data).__name__
            error.add_note(
                f"  where: a {kind} whose len is {self._size}, read at {indices}; if that is beyond its end, the "
                f"__len__ of {kind} returns too much"
            )
            raise

    def _order(self, number_of_pass: int, size: int) -> Any:
        if not self.shuffle:
            return range(size)
        return np.random.default_rng((self._seed, number_of_pass)).permutation(size)

    def require_one_pass(self) -> None:
        """Raise if there are more steps than batches, so that samples would be used twice.

        Raises:
            DataError: there are more steps; the message has both numbers.
        """
        batches = self._places.per_pass(self._size)
        if self.steps > batches:
            raise DataError(
                f"{self.steps} steps over a {type(self._data).__name__} of {batches} batches",
                "samples would come, and count, more than once",
                f"{batches} steps, or leave it out for all",
            )

    def example(self) -> Batch:
        """Return the first batch, which begins no epoch."""
        first = self._read(Piece(0, 0, min(self._batch_size or 1, self._size)))
        return host_batch(*self.in_order(unpack(first)), self.class_weights)

    def _data_state(self) -> Any:
        """Return the state of the data, if they say what it is."""
        return self._data.get_state() if _says_its_state(self._data) else None

    def _look(self) -> None:
        """Look whether data change with epochs without saying so, as by a shuffle of their own in `on_epoch_end`."""
        hooks = (getattr(self._data, name, None) for name in ("on_epoch_begin", "on_epoch_end"))
        if self.remembers and any(map(callable, hooks)) and not _says_its_state(self._data):
            mark, last = 0, len(self._data) - 1
            for i in (0, last // 2, last):
                entry = self._data[i] if self._batch_size is None else collate(self._data, [i])
                mark = fingerprint.extend(mark, host_batch(*self.in_order(unpack(entry))))
            self._seen.add(mark)

    def get_state(self, index: int = 0, epoch: int | None = None) -> dict[str, Any]:
        """Return the seed, which determines the order of each pass, the place, and what the data say of themselves."""
        if index == 0:
            self._look()
        told = self._pass if index else self._data_state()
        found = {"seed": self._seed, "size": self._size, "pass": told, "changes": len(self._seen) > 1}
        return {**found, "shuffle": self.shuffle, "at": self._places.tell(epoch or 0, index, self._size)}

    def set_state(self, state: dict[str, Any]) -> None:
        """Continue with the orders of that seed, behind the samples that were used.

        Raises:
            DataError: the length of the data has changed, or their order within a pass; or they change with each pass,
                and cannot be continued.
        """
        if state["size"] != self._size:
            raise DataError(
                f"a run over {state['size']} samples, resumed with {self._size}",
                "which samples come next is known for the same data only",
                "the same data; or restore model and optimizer, and begin another run: fit(initial_epoch=...)",
            )
        says = _says_its_state(self._data)
        if state.get("changes") and not says:
            raise fingerprint.changing_error(type(self._data).__name__)
        self._places.set_state(state, self._size, self.shuffle)
        self._seed = state["seed"]
        if says and state.get("pass") is not None:
            self._data.set_state(state["pass"])


def _says_its_state(data: object) -> bool:
    return hasattr(data, "get_state") and hasattr(data, "set_state")


def _read_ahead(pieces: Iterator[Piece], read: Callable[[Piece], Any], data: Any) -> Iterator[Any]:
    """Yield the entry of each piece, in order; prefetch with threads if the data set has ``workers``."""
    workers = int(getattr(data, "workers", 0) or 0)
    if workers <= 1:
        yield from map(read, pieces)
        return
    read = in_present_width(read)
    depth = max(int(getattr(data, "max_queue_size", 0) or 10), workers)
    with ThreadPoolExecutor(workers) as pool:
        waiting: deque[Future[Any]] = deque()
        try:
            for piece in pieces:
                waiting.append(pool.submit(read, piece))
                if len(waiting) >= depth:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for one in waiting:
                one.cancel()
