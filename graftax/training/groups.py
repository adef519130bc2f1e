"""Groups: batches of equal shapes that one run of a compiled loop trains on (``steps_per_execution``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, overload

import numpy as np

from graftax import ops
from graftax.core import tree
from graftax.training.batch import Batch
from graftax.training.sources.array_source import ArraySource
from graftax.training.sources.on_device import OnDevice, as_tuple, host_of
from graftax.training.sources.source import Source


class Group(Sequence[Batch]):
    """Batches of equal shapes on the host, given as a list, or stacked.

    Args:
        batches: The batches, or None.
        stacked: Their arrays with an additional first axis of batches, or None.
        size: The number of batches.

    Example:
        >>> group = Group(None, (np.zeros((2, 3)),), 2)
        >>> len(group), group[1][0].shape, group.stack()[0].shape
        (2, (3,), (2, 3))
    """

    def __init__(self, batches: list[Batch] | None, stacked: Batch | None, size: int) -> None:
        self._batches, self._stacked, self._size = batches, stacked, size

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, index: int) -> Batch: ...
    @overload
    def __getitem__(self, index: slice) -> list[Batch]: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(self._size)[index]]
        if self._batches is not None:
            return host_of(self._batches[index])
        return tree.map_structure(lambda leaf: None if leaf is None else leaf[index], self._stacked)

    def batches(self) -> list[Batch]:
        """Return the batches as a list."""
        return self[:] if self._batches is None else self._batches

    def stack(self) -> Batch:
        """Return the stacked arrays, with an additional first axis of batches."""
        if self._stacked is None:
            assert self._batches is not None
            self._stacked = stack_batches([as_tuple(batch) for batch in self._batches])
        return self._stacked


def groups_of(source: Source, epoch: int, start: int, size: int) -> Iterator[Group]:
    """Yield the batches of an epoch, from ``start`` on, in groups of ``size`` if so many have equal shapes."""
    if isinstance(source, ArraySource):
        return (
            Group(None, whole, count) if count > 1 else Group([whole], None, 1)
            for whole, count in source.epoch_in_groups(epoch, start, size)
        )
    return (Group(found, None, len(found)) for found in group_batches(source.epoch(epoch, start), size))


def up_to_last_step(groups: Iterator[Group], params: Mapping[str, Any]) -> Iterator[Group]:
    """Yield the same groups, but batches one by one where a group would run beyond the last step that is asked for.

    Args:
        groups: Groups of batches.
        params: What callbacks are shown: ``step`` so far, and ``last_step``, if one of them set it.
    """
    for group in groups:
        last = params.get("last_step")
        if last is None or len(group) == 1 or params["step"] + len(group) <= last:
            yield group
        else:
            yield from (Group([batch], None, 1) for batch in group.batches())


def group_batches(batches: Iterator[Batch], size: int) -> Iterator[list[Batch]]:
    """Yield lists of ``size`` batches of equal shapes, or of one batch if the next ones differ or there are too few.

    So there are only two programs, for one step and for ``size`` steps, for any number of batches.

    Example:
        >>> rows = [(np.ones(n),) for n in (4, 4, 4, 4, 4, 3)]
        >>> [len(group) for group in group_batches(iter(rows), 2)]
        [2, 2, 1, 1]
    """
    held: list[Batch] = []
    kind: list[Any] = []
    for batch in batches:
        here = _kind(batch)
        if held and here != kind:
            yield from ([one] for one in held)
            held = []
        held.append(_copy_batch(batch))
        kind = here
        if len(held) == size:
            yield held
            held = []
    yield from ([one] for one in held)


def _copy_batch(batch: Batch) -> Batch:
    """Return a batch that stays as it is: a loader may write the next one into the same arrays."""
    if isinstance(batch, OnDevice):
        return batch
    return tree.map_structure(lambda leaf: leaf.copy() if isinstance(leaf, np.ndarray) else leaf, batch)  # type: ignore[no-any-return]


def stack_batches(batches: list[Batch]) -> Batch:
    """Return the stacked arrays of batches, with an additional first axis of steps."""
    return tree.map_structure(lambda *leaves: _stack(leaves), *batches)  # type: ignore[no-any-return]


def _stack(leaves: tuple[Any, ...]) -> Any:
    on_host = all(isinstance(leaf, np.ndarray | int | float) for leaf in leaves)
    return np.stack(leaves) if on_host else ops.stack(leaves)


def _kind(batch: Batch) -> list[Any]:
    leaves = tree.flatten_with_paths(batch)
    return [(path, getattr(leaf, "shape", None), getattr(leaf, "dtype", type(leaf))) for path, leaf in leaves]
