"""How steps are run: several batches in one execution of a compiled program, or plain Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from graftax import ops, tree
from graftax.training.data import Batch
from graftax.transforms.eagerly import run_eagerly


def grouped(batches: Iterator[Batch], size: int) -> Iterator[list[Batch]]:
    """Lists of ``size`` batches that are alike; of one batch where the next is another, or there is none.

    So there are two programs, for one step and for ``size``, however many batches there are.

    Example:
        >>> rows = [(np.ones(n),) for n in (4, 4, 4, 4, 4, 3)]
        >>> [len(group) for group in grouped(iter(rows), 2)]
        [2, 2, 1, 1]
    """
    held: list[Batch] = []
    for batch in batches:
        if held and _kind(batch) != _kind(held[0]):
            yield from ([one] for one in held)
            held = []
        held.append(batch)
        if len(held) == size:
            yield held
            held = []
    yield from ([one] for one in held)


def stacked(batches: list[Batch]) -> Batch:
    """One array for each of theirs, with an axis of steps before the others."""
    return tree.map_structure(lambda *leaves: _stack(leaves), *batches)  # type: ignore[no-any-return]


def eagerly(step: Callable[..., Any]) -> Callable[..., Any]:
    """The step as plain Python, and what is compiled inside of it, too."""

    def run(*args: Any) -> Any:
        with run_eagerly():
            return step(*args)

    return run


def _stack(leaves: tuple[Any, ...]) -> Any:
    on_host = all(isinstance(leaf, np.ndarray | int | float) for leaf in leaves)
    return np.stack(leaves) if on_host else ops.stack(leaves)


def _kind(batch: Batch) -> list[Any]:
    leaves = tree.flatten_with_paths(batch)
    return [(path, getattr(leaf, "shape", None), getattr(leaf, "dtype", type(leaf))) for path, leaf in leaves]
