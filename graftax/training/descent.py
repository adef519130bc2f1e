"""The descent of a step: forward, loss, gradient and update, with all Variables that the forward pass makes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeAlias

from graftax.backend import registry
from graftax.core.typedefs import Array
from graftax.optimizers.minimizer import Minimizer, check_returned
from graftax.training.compiled_loss import walk_parts
from graftax.training.dependence import level_around, require_dependent, warn_of_frozen
from graftax.training.first_step import build_all, require_restored, waiting_in
from graftax.training.objectives import require_optimizer
from graftax.training.parts import parts_of
from graftax.training.trainable_model import TrainableModel
from graftax.transforms.lifting.frames import Abstract
from graftax.variables.graph.module import Module
from graftax.variables.graph.structure import structure
from graftax.variables.graph.trained_model import training
from graftax.variables.state.storage import frames
from graftax.variables.variable import Variable

Passed: TypeAlias = tuple[Array, Any, Any]
"""What a forward pass gives: the loss, the predictions and their masks."""
Forward: TypeAlias = Callable[[], Passed]


class _MoreVariables(Exception):
    """The forward pass has made Variables that the list of those to be trained lacks."""


def descend(model: TrainableModel, forward: Forward, x: object) -> Passed:
    """Take one step down the loss of a batch; return what the forward pass returned.

    What that pass or the loss builds is trained by this step, too: the pass runs again, with a new list.

    Args:
        model: The model.
        forward: Computes the loss, the predictions and their masks.
        x: The input.
    """
    object.__setattr__(model, "_gx_never_called", build_all(model, x, model._gx_never_called))
    if waiting_in(model):
        _build_by_loss(forward)
    optimizer = require_optimizer(model)
    require_restored(model, *([optimizer] if isinstance(optimizer, Module) else []))
    try:
        return _descend(model, optimizer, forward)
    except _MoreVariables:
        return _descend(model, optimizer, forward)


def variables_to_train(model: TrainableModel) -> list[Variable]:
    """Return the trainable Variables of a model without those of losses that its parts alone were compiled with.

    The loss of the model does not use these: their gradients are zero, and decay would still move them.
    """
    variables: list[Variable] = model.trainable_variables
    if not parts_of(model).has_other_losses:
        return variables
    used = set(map(id, walk_parts(model, of_root=True)))
    return [variable for variable in variables if id(variable) in used]


def _descend(model: TrainableModel, optimizer: Minimizer, forward: Forward) -> Passed:
    variables, level, made = variables_to_train(model), level_around(), structure.made

    def loss_fn() -> tuple[Array, Passed]:
        found = forward()
        if structure.made != made and not set(variables).issuperset(variables_to_train(model)):
            raise _MoreVariables  # before anything is assigned
        if variables:
            require_dependent(found[0], level, optimizer)
        return found[0], found

    if not variables:
        warn_of_frozen(model)
        return loss_fn()[1]  # the loss is still reported
    with training(model, gives_all=True):  # where a program of its own calls the step, too
        found = check_returned(optimizer, optimizer.minimize(loss_fn, variables, has_aux=True))
    return found[1]


def _build_by_loss(forward: Forward) -> None:
    """Build what the loss builds, such as layers inside of a loss, where values of a checkpoint wait for it."""
    backend = registry.current()
    if not backend.has("tracing"):
        return
    transforms = backend.tracing

    def run() -> Array:
        with frames.entered(Abstract(frames.top, transforms.level())):
            return forward()[0]

    with suppress(Exception):  # the step itself says what is wrong
        transforms.eval_shape(run)
