"""Whose rows the batches of an iterable are, where each of several processes has one of its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from graftax.core.errors import ArgumentTypeError
from graftax.core.short_traceback import door


class Rows:
    """An iterable of batches, with a word on whose rows they are; `LocalRows` or `GlobalRows`."""

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
    """Batches of which each process yields its own rows; together they are the rows of the step.

    All processes yield equally many, for which the devices of each have equal shares. Alone it is the iterable itself.

    Args:
        batches: Such as a loader with a sampler for this process: ``process_index()`` of ``process_count()``.

    Raises:
        ArgumentTypeError: it is no iterable of batches.

    Example:
        >>> import numpy as np, graftax as gx
        >>> model = gx.Sequential([gx.layers.Dense(1)])
        >>> model.compile("sgd", "mse")
        >>> batches = [(np.ones((4, 2)), np.ones((4, 1)))] * 3
        >>> history = model.fit(LocalRows(batches), verbose=0)
    """

    are_local = True


class GlobalRows(Rows):
    """Batches of which each process yields all rows, the same ones in the same order; each takes its share.

    Alone it is the iterable itself.

    Args:
        batches: Such as a loader that follows from one seed.

    Raises:
        ArgumentTypeError: it is no iterable of batches.

    Example:
        >>> import numpy as np, graftax as gx
        >>> model = gx.Sequential([gx.layers.Dense(1)])
        >>> model.compile("sgd", "mse")
        >>> history = model.fit(GlobalRows([(np.ones((4, 2)), np.ones((4, 1)))] * 3), verbose=0)
    """

    are_local = False
