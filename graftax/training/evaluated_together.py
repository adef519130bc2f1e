"""How many batches an evaluation takes in one run: as many as was said, or some once there have been very many."""

from __future__ import annotations

from math import prod

from graftax.backend import registry
from graftax.core import tree
from graftax.distribution.distribution import Distribution
from graftax.training.executions import TEST_STEPS, CompiledSteps, calls_python
from graftax.training.parts import parts_of
from graftax.training.sources.array_source import ArraySource
from graftax.training.sources.source import Source
from graftax.training.trainable_model import TrainableModel
from graftax.transforms.compile.compiled_function import CompiledFunction
from graftax.variables.state.storage import frames

_MANY = 2048  # batches one by one, which have cost beside their steps about what another program takes to compile
_AT_ONCE = 16
_SMALL = 1 << 16  # elements, of all weights and of a batch: the steps of others take longer than what is around them


def batches_per_run(model: TrainableModel, source: Source, is_watched: bool) -> int:
    """Return how many batches of an evaluation are to be taken in one run.

    Where nobody has said by ``steps_per_execution``, it is one, until so many have been evaluated that a program for
    several pays. That changes no number: a loop has the arithmetic of its steps.

    Args:
        model: The model.
        source: Where the batches come from.
        is_watched: Whether somebody is told of each batch.
    """
    if model.steps_per_execution > 1:
        return model.steps_per_execution
    steps = model._gx_functions
    if steps is None or steps.tested < _MANY or is_watched or Distribution.any_made or frames.top is not None:
        return 1
    if not isinstance(source, ArraySource) or source.shuffle or source.steps < _AT_ONCE:
        return 1
    if steps.at_once is None:
        steps.at_once = _AT_ONCE if _may_go_together(model, steps, source) else 1
    return steps.at_once if _elements(source) <= _SMALL else 1


def _may_go_together(model: TrainableModel, steps: CompiledSteps, source: ArraySource) -> bool:
    """Tell whether steps are small, those of this library, and can be traced as a loop."""
    compiles = all(map(registry.current().has, ("compiling", "control_flow")))
    if not compiles or model._gx_run_eagerly or model._gx_has_own("test_step"):
        return False
    if calls_python(model) or parts_of(model).stateful or _elements(source) > _SMALL:
        return False
    if sum(prod(variable.shape) for variable in model.variables) > _SMALL:
        return False
    batches, _ = next(source.epoch_in_groups(0, 0, _AT_ONCE))
    run = model._gx_compiled_step(TEST_STEPS)
    try:
        if isinstance(run, CompiledFunction):
            run.trace(batches)
    except Exception:  # noqa: BLE001 - one by one they work, and nobody has asked for more
        steps.pop(TEST_STEPS, None)
        return False
    return True


def _elements(source: ArraySource) -> int:
    """Return how many numbers are in a batch."""
    return sum(prod(leaf.shape) for leaf in tree.flatten(source.example()) if leaf is not None)
