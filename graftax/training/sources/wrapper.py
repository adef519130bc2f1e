"""Properties of the innermost loader below wrappers, such as those for named columns and prefetching."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from graftax.core import user_line
from graftax.core.errors import DataError
from graftax.training.batch import Parts

_INFINITE = -1
"""The ``cardinality()`` of an infinite data set of tf.data; -2 means an unknown length."""

_TOO_MANY = 2**48
"""A length from which on a loader counts as infinite: grain returns ``sys.maxsize`` divided by the batch size."""


InOrder: TypeAlias = Callable[[Parts], Parts]
"""A function of the parts of a batch that gives them with the columns of tables in the order of the training."""


def as_they_are(parts: Parts) -> Parts:
    """Return the parts of a batch as they are."""
    return parts


class Wrapper:
    """The base of loaders that convert the batches of another loader, in its order."""

    def __init__(self, batches: Any) -> None:
        self._batches = batches
        self.in_order: InOrder = as_they_are
        """What puts the columns of tables in order; a wrapper that makes arrays of them calls it before."""

    def __len__(self) -> int:
        return len(self._batches)


def put_in_order(batches: Any, by: InOrder) -> None:
    """Let wrappers around a loader put the columns of tables in order, where they make arrays of them."""
    while isinstance(batches, Wrapper):
        batches.in_order, batches = by, batches._batches


def innermost(batches: Any) -> Any:
    """Return the innermost loader: the argument itself, if it is not a wrapper."""
    while isinstance(batches, Wrapper):
        batches = batches._batches
    return batches


def length_of(batches: Any) -> int | None:
    """Return the number of batches in a pass, if the loader knows it.

    Example:
        >>> length_of([1, 2]), length_of(iter([1, 2]))
        (2, None)
    """
    try:
        return len(batches)
    except TypeError:  # it has no length, or is a loader of a stream of unknown length
        return None


def is_endless(batches: Any) -> bool:
    """Tell whether a loader reports that it is infinite, as those of tf.data and grain do after ``repeat()``.

    Example:
        >>> is_endless(itertools.cycle([1, 2])), is_endless([1, 2])
        (True, False)
    """
    batches = innermost(batches)
    if isinstance(batches, itertools.cycle):
        return True
    cardinality = getattr(batches, "cardinality", None)
    known: Any = cardinality() if callable(cardinality) else None
    if known is not None and int(known) == _INFINITE:
        return True
    return (length_of(batches) or 0) > _TOO_MANY


def require_end(batches: Any) -> None:
    """Raise for infinite batches if the number of steps is not given.

    Raises:
        DataError: the batches are infinite; the message names the argument to give.
    """
    if is_endless(batches):
        raise DataError(
            f"a {type(innermost(batches)).__name__} that begins again for ever, and no number of steps",
            "an epoch of it would have no end",
            "fit(..., steps_per_epoch=...), evaluate or predict(..., steps=...), validation_steps=... for "
            "validation_data; or data that end, without .repeat()",
        )


def require_same_order(batches: Any) -> None:
    """Raise for a loader whose order cannot be repeated: the generators of torch and tf.data are not in checkpoints.

    Raises:
        DataError: it is such a loader; the message says how to get a repeatable order.
    """
    loader = innermost(batches)
    if type(getattr(loader, "sampler", None)).__name__ == "RandomSampler":
        raise DataError(
            f"a run is resumed with a {type(loader).__name__} that shuffles",
            "its order comes from a generator of torch that no checkpoint holds: rows would be left out or come twice",
            "torchdata's StatefulDataLoader; arrays or a torch Dataset itself, fit(dataset, batch_size=32), which keep "
            "their place; or shuffle=False",
        )
    if any(map(_shuffles_anew, _steps_of(loader))):
        raise DataError(
            f"a run is resumed with a {type(loader).__name__} of tf.data that shuffles each pass anew",
            "no checkpoint holds what its order follows from: this run would see another one than the first",
            "dataset.shuffle(n, seed=1, reshuffle_each_iteration=False); grain, or arrays, which keep their place",
        )


def warn_of_random_order(batches: Any) -> None:
    """Warn that what is predicted for a loader that shuffles is in no order that anybody knows afterwards."""
    loader = innermost(batches)
    sampler = getattr(loader, "sampler", None)  # that of a DataLoader of torch
    if (
        "Random" in type(sampler).__name__
        or getattr(sampler, "shuffle", False) is True  # one for several processes
        or any(type(step).__name__ == "_ShuffleDataset" for step in _steps_of(loader))
    ):
        user_line.warn(
            f"predict got a {type(loader).__name__} that shuffles: row i of what comes out belongs to the row that "
            "came i-th this time, not to row i of the data set. Give one with shuffle=False."
        )


def _steps_of(loader: Any) -> Iterable[Any]:
    """Return the tf.data data sets that a data set consists of, including itself; empty for other loaders."""
    found = [loader] if type(loader).__module__.startswith("tensorflow.") and hasattr(loader, "_inputs") else []
    for one in found:  # the list grows during the loop
        found += one._inputs()
    return found


def _shuffles_anew(dataset: Any) -> bool:
    if type(dataset).__name__ != "_ShuffleDataset":
        return False
    seeds = [int(getattr(dataset, name, 0)) for name in ("_seed", "_seed2")]
    return getattr(dataset, "_reshuffle_each_iteration", True) or not any(seeds)
