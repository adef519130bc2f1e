"""The descent of a step: forward, loss, gradient and update, with all Variables that the forward pass makes."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from graftax.backend import registry
from graftax.core.typedefs import Array
from graftax.layers.call_context import call_context
from graftax.optimizers.minimizer import check_returned
from graftax.training.batch import Batch, unpack
from graftax.training.compiled_loss import walk_parts
from graftax.training.dependence import level_around, require_dependent, warn_of_frozen
from graftax.training.first_step import build_all, require_restored, waiting_in
from graftax.training.loss_arguments import one_number
from graftax.training.parts import parts_of
from graftax.transforms.lifting.frames import Abstract
from graftax.variables.graph.structure import structure
from graftax.variables.state.storage import frames
from graftax.variables.variable import Variable


class _MoreVariables(Exception):
    """The forward pass has made Variables that the list of those to be trained lacks."""


def descend(model: Any, batch: Batch) -> tuple[Array, Any, Any]:
    """Take one step down the loss of a batch; return the loss, the predictions and their masks.

    What the forward pass or the loss builds is trained by this step, too: the pass runs again, with a new list.
    """
    x = unpack(batch)[0]
    object.__setattr__(model, "_gx_never_called", build_all(model, x, model._gx_never_called))
    if waiting_in(model):
        _build_by_loss(model, batch)
    require_restored(model, model.optimizer)
    try:
        return _descend(model, batch)
    except _MoreVariables:
        return _descend(model, batch)


def variables_to_train(model: Any) -> list[Variable]:
    """Return the trainable Variables of a model without those of losses that its parts alone were compiled with.

    The loss of the model does not use these: their gradients are zero, and decay would still move them.
    """
    variables: list[Variable] = model.trainable_variables
    if not parts_of(model).has_other_losses:
        return variables
    used = set(map(id, walk_parts(model, of_root=True)))
    return [variable for variable in variables if id(variable) in used]


def _descend(model: Any, batch: Batch) -> tuple[Array, Any, Any]:
    variables, level, made = variables_to_train(model), level_around(), structure.made
    optimizer = model.optimizer

    def forward() -> tuple[Array, tuple[Any, Any, Any]]:
        found = _forward(model, batch)
        if structure.made != made and not set(variables).issuperset(variables_to_train(model)):
            raise _MoreVariables  # before anything is assigned
        if variables:
            require_dependent(found[0], level, optimizer)
        return found[0], found

    if not variables:
        warn_of_frozen(model)
        return forward()[1]  # the loss is still reported
    found = check_returned(optimizer, optimizer.minimize(forward, variables, has_aux=True))
    return found[1]


def _forward(model: Any, batch: Batch) -> tuple[Array, Any, Any]:
    x, y, sample_weight = unpack(batch)
    with call_context(training=True) as context:
        y_pred = model(x, training=True)
        loss = one_number(model, model.compute_loss(x, y, y_pred, sample_weight))
        return loss, y_pred, context.mask_of(y_pred)


def _build_by_loss(model: Any, batch: Batch) -> None:
    """Build what the loss builds, such as layers inside of a loss, where values of a checkpoint wait for it."""
    backend = registry.current()
    if not backend.has("tracing"):
        return
    transforms = backend.tracing

    def run() -> Array:
        with frames.entered(Abstract(frames.top, transforms.level())):
            return _forward(model, batch)[0]

    with suppress(Exception):  # the step itself says what is wrong
        transforms.eval_shape(run)
