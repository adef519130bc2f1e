"""LocalRows and GlobalRows: which rows the iterable of each process yields."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from graftax.core.errors import ArgumentTypeError
from graftax.core.short_traceback import door


class Rows:
    """The base of `LocalRows` and `GlobalRows`: an iterable of batches."""

    are_local: ClassVar[bool]

    @door
    def __init__(self, batches: Iterable[Any]) -> None:
        name = type(self).__name__
        if isinstance(batches, str | bytes | dict) or hasattr(batches, "dtype") or not isinstance(batches, Iterable):
            raise ArgumentTypeError(
                f"{name} got {batches!r:.60} of type {type(batches).__name__}",
                "it takes an iterable of batches; arrays are the same in all processes, and need no such word",
                f"{name}(loader)",
            )
        self.batches = batches

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.batches!r:.60})"


class LocalRows(Rows):
    """An iterable of batches with different rows in each process; together they are the rows of a step.

    All processes must yield equally many rows, divisible by their number of devices. With a single process, this has no
    effect.

    Args:
        batches: For example a loader with a sampler for part ``process_index()`` of ``process_count()``.

    Raises:
        ArgumentTypeError: it is not an iterable of batches.

    Example:
        >>> import numpy as np, graftax as gx
        >>> model = gx.Sequential([gx.layers.Dense(1)])
        >>> model.compile("sgd", "mse")
        >>> batches = [(np.ones((4, 2)), np.ones((4, 1)))] * 3
        >>> history = model.fit(LocalRows(batches), verbose=0)
    """

    are_local = True


class GlobalRows(Rows):
    """An iterable of batches with the same rows, in the same order, in all processes; each uses a part of them.

    With a single process, this has no effect.

    Args:
        batches: For example a loader with a fixed seed.

    Raises:
        ArgumentTypeError: it is not an iterable of batches.

    Example:
        >>> import numpy as np, graftax as gx
        >>> model = gx.Sequential([gx.layers.Dense(1)])
        >>> model.compile("sgd", "mse")
        >>> history = model.fit(GlobalRows([(np.ones((4, 2)), np.ones((4, 1)))] * 3), verbose=0)
    """

    are_local = False
