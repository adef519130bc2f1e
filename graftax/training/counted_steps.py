"""Taking steps: one batch, or a group of batches in one run; each step is counted in the run when its results are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from graftax.training.batch import Batch
from graftax.training.first_step import FirstStep
from graftax.training.groups import Group
from graftax.training.run import Run
from graftax.training.sources.on_device import as_tuple, host_of
from graftax.training.spread import Spread
from graftax.transforms.flow.attribute_changes import ChangingBodyError

Step: TypeAlias = Callable[[Any], Any]


def run_step(step: Step, ready: FirstStep, spread: Spread, run: Run | None, batch: Batch) -> Mapping[str, Any]:
    """Take one step.

    Args:
        step: The step.
        ready: What prepares it.
        spread: What places its batch on devices.
        run: The run that counts it; None for an evaluation.
        batch: The batch.
    """
    given = spread(as_tuple(batch))
    is_compiled = ready.prepare(step, given, [host_of(batch)])
    return _run_step(run, step, given, is_compiled, 1)


def run_group(
    step: Step, steps: Step, ready: FirstStep, spread: Spread, run: Run | None, group: Group
) -> Mapping[str, Any]:
    """Take steps with batches of equal shapes: in one run, or one by one if a step changes how the next is computed."""
    if len(group) > 1:
        given = spread(group.stack(), steps=True)
        try:
            is_compiled = ready.prepare(steps, given, group)
            return _run_step(run, steps, given, is_compiled, len(group))
        except ChangingBodyError:
            pass
    logs: Mapping[str, Any] = {}
    for batch in group.batches():
        logs = run_step(step, ready, spread, run, batch)
    return logs


def _run_step(run: Run | None, step: Any, batch: object, is_compiled: bool, steps: int) -> Mapping[str, Any]:
    if run is None:
        return step(batch)  # type: ignore[no-any-return]
    run.begin_step(step.commits if is_compiled else None, steps)
    logs: Mapping[str, Any] = step(batch)
    run.advance(steps, logs)
    return logs
