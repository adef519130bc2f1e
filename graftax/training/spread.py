"""Batches of a model that lies over several devices: each device gets its share of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graftax.backend import registry
from graftax.backend.gathering import gathered
from graftax.backend.rendezvous import several
from graftax.core.errors import StateError
from graftax.distribution.comparison import compare_assigned, compare_rows
from graftax.distribution.distribution import Distribution
from graftax.distribution.moving import beside, variables_below
from graftax.distribution.of_module import distribution_of
from graftax.distribution.processes import is_main, process_count
from graftax.training.sources.iterable_source import IterableSource
from graftax.training.sources.source import Source
from graftax.training.trained import Trained
from graftax.variables.graph.structure import structure
from graftax.variables.state.home import HomesMoved


class Spread:
    """Spreads batches as the distribution of a model does, if it has one.

    Args:
        model: The model.
        source: Where the batches come from; None for one that was given as it is.
        trains: Whether the model is trained on them.

    Raises:
        StateError: at the first batch: with several processes, each would train a model of its own.
    """

    def __init__(self, model: Trained, source: Source | None = None, trains: bool = False) -> None:
        self._model = model
        self._trains = trains
        self._steps = None if source is None else source.steps
        self._is_local = isinstance(source, IterableSource) and source.are_local
        self._is_first = True
        self._seen: tuple[int, int] | None = None
        self._distribution: Distribution | None = None

    def __call__(self, batch: Any, steps: bool = False) -> Any:
        """Return a batch, each device with its share; ``steps`` says that its first axis counts steps."""
        if not Distribution.any_made and not self._is_first:
            return batch
        now = structure.version, HomesMoved.count
        if now != self._seen and Distribution.any_made:  # the first step may have built the model
            self._distribution, self._seen = distribution_of(self._model), now
        if self._is_first:
            self._is_first = False
            self._compare(batch)
        if self._distribution is None:
            return batch
        return self._distribution._gx_shard(batch, steps, self._is_local)

    def _compare(self, batch: Any) -> None:
        """Look at the first batch, where there are other processes."""
        if several() is None:
            return
        if self._distribution is not None:
            compare_assigned(variables_below([self._model, *beside(self._model)])[0].values())
        if self._distribution is not None and not self._is_local:
            compare_rows(batch, self._steps)
        elif self._distribution is None and self._trains:
            raise StateError(
                f"a {type(self._model).__name__} without a distribution, in {process_count()} processes",
                "each process would train a model of its own, and all of them the same one",
                "with graftax.distribution.DataParallel().scope(): around the model; or place(model)",
            )


def whole(value: Any) -> Any:
    """Return an output as one array of the host, in all processes; all call it."""
    if not hasattr(value, "dtype"):
        return value
    return gathered(value)


def all_whole(values: Sequence[Any]) -> list[Any]:
    """Return what `whole` does of each, asking once how many processes there are."""
    if several() is not None:
        return [whole(value) for value in values]
    to_numpy = registry.current().arrays.to_numpy
    return [to_numpy(value) if hasattr(value, "dtype") else value for value in values]


def shown_by_main(verbose: int | str) -> int | str:
    """Return how much is shown: nothing by other processes than the first."""
    return verbose if is_main() else 0
