"""Sharding batches for a model on several devices: each device gets a part of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graftax.backend import registry
from graftax.backend.gathering import gather_whole
from graftax.backend.rendezvous import Rendezvous, process_group
from graftax.core.errors import ProcessError, StateError
from graftax.distribution.comparison import compare_assigned, compare_rows
from graftax.distribution.distribution import Distribution
from graftax.distribution.moving import optimizers_beside, variables_below
from graftax.distribution.of_module import distribution_of
from graftax.distribution.processes import is_main, process_count
from graftax.training.sources.iterable_source import IterableSource
from graftax.training.sources.source import Source
from graftax.training.trainable_model import TrainableModel
from graftax.variables.graph.structure import structure
from graftax.variables.state.home import HomesMoved


class Spread:
    """Shards batches by the distribution of a model, if it has one.

    Args:
        model: The model.
        source: The source of the batches; None for a batch that the user gave directly.
        trains: Whether the batches are for training.

    Raises:
        StateError: at the first batch, if there are several processes and each would train its own model.
    """

    def __init__(self, model: TrainableModel, source: Source | None = None, trains: bool = False) -> None:
        self._model = model
        self._trains = trains
        self._steps = None if source is None else source.steps
        self._is_local = isinstance(source, IterableSource) and source.are_local
        self._is_first = True
        self._seen: tuple[int, int] | None = None
        self._distribution: Distribution | None = None

    def __call__(self, batch: Any, steps: bool = False) -> Any:
        """Return a sharded batch; with ``steps``, its first axis is that of steps."""
        if not Distribution.any_made and not self._is_first:
            return batch
        now = structure.version, HomesMoved.count
        # looked up again after changes, since the first step may have built the model
        if now != self._seen and Distribution.any_made:
            self._distribution, self._seen = distribution_of(self._model), now
        if self._is_first:
            self._is_first = False
            self._compare(batch)
        if self._distribution is None:
            return batch
        return self._distribution._gx_shard(batch, steps, self._is_local)

    def _compare(self, batch: Any) -> None:
        """Check the first batch, if there are other processes."""
        if process_group() is None:
            return
        if self._distribution is not None:
            compare_assigned(variables_below([self._model, *optimizers_beside(self._model)])[0].values())
        if self._distribution is not None and not self._is_local:
            compare_rows(batch, self._steps)
        elif self._distribution is None and self._trains:
            raise StateError(
                f"a {type(self._model).__name__} without a distribution, in {process_count()} processes",
                "each process would train a model of its own, and all of them the same one",
                "with graftax.distribution.DataParallel().scope(): around the model; or place(model)",
            )


def require_one_call(model: TrainableModel, things: Sequence[tuple[str, object]]) -> None:
    """Compare the arguments of a call of ``fit`` with those of the other processes, if there are any.

    Raises:
        ProcessError: an argument differs; raised in all processes.
    """
    processes = process_group()
    if processes is not None and distribution_of(model) is not None:
        meeting = Rendezvous(processes, "fit")
        meeting.agree([(name, str(value)) for name, value in things], "the same arguments of fit in every process")
        meeting.forget()


def require_one_end(model: TrainableModel, epoch: int) -> None:
    """Compare whether the processes, if there are several, all stop after an epoch, or all continue.

    Raises:
        ProcessError: some stop, and others do not; raised in all processes.
    """
    processes = process_group()
    if processes is not None and distribution_of(model) is not None:
        meeting = Rendezvous(processes, "the end of an epoch")
        what = "the end of fit, by model.stop_training" if model.stop_training else "the next epoch"
        meeting.agree(
            [(f"what follows epoch {epoch + 1}", what)],
            "callbacks that stop in every process, and decide by numbers that all have, such as those in logs",
        )
        meeting.forget()


def require_one_stop(model: TrainableModel, epoch: int, steps: int) -> None:
    """Raise unless all processes, if there are several, set ``stop_training`` after the same step within an epoch.

    Args:
        model: The model.
        epoch: The number of the epoch, from 0.
        steps: How many steps of it were taken.

    Raises:
        ProcessError: the others go on. They wait in the next step for this process, and so cannot be asked.
    """
    processes = process_group()
    if processes is None or distribution_of(model) is None:
        return
    meeting = Rendezvous(processes, "model.stop_training")
    place = f"step {steps} of epoch {epoch + 1}"
    instead = (
        "self.model.stop_training = True in on_epoch_end, or after the same step in every process, decided by numbers "
        "that all have, such as those in logs"
    )
    try:
        meeting.agree([("training stops after", place)], instead)
    except ProcessError as error:
        raise ProcessError(
            f"process {processes.index()} sets model.stop_training after {place}; {error.received}",
            "the other processes go on to the next step, which needs a part from each of them",
            instead,
        ) from error
    meeting.forget()


def gather_output(value: Any) -> Any:
    """Return an output as one array on the host, in all processes. All processes must call it."""
    if not hasattr(value, "dtype"):
        return value
    return gather_whole(value)


def gather_outputs(values: Sequence[Any]) -> list[Any]:
    """Return the results of `gather_output` for several values, with one look-up of the number of processes."""
    if process_group() is not None:
        return [gather_output(value) for value in values]
    to_numpy = registry.current().arrays.to_numpy
    return [to_numpy(value) if hasattr(value, "dtype") else value for value in values]


def limit_to_main(verbose: int | str) -> int | str:
    """Return ``verbose`` for process 0, and 0 for others."""
    return verbose if is_main() else 0
