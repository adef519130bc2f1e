"""The states that layers carry from batch to batch, during training and evaluation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from graftax.core.errors import ArgumentError
from graftax.layers.stateful import Stateful
from graftax.training.compiled_loss import KeptVariables, variables_of
from graftax.training.parts import parts_of
from graftax.training.sources.source import Source
from graftax.training.trainable_model import TrainableModel
from graftax.variables.graph.module import Module


@contextmanager
def states_kept(model: TrainableModel) -> Iterator[None]:
    """Give Variables of the role "state" the values back that they have at the start of the block.

    An evaluation that a layer sees as the next part of a sequence would change the training after it. Statistics that
    only training moves stay as they are; metrics, counters and random streams have roles of their own. Variables of
    losses that the model was compiled with get their values back, too.
    """
    parts = parts_of(model)
    kept = [(variable, variable.value) for variable in parts.states]  # a step gives no array away that others hold
    fresh = [layer for layer in _stateful(model) if not layer.built]
    objectives = model._gx_objectives
    of_losses = KeptVariables([] if objectives is None else variables_of(objectives.given_losses()["loss"]))
    try:
        yield
    finally:
        for variable, value in kept:
            if variable.value is not value:
                variable.assign(value)
        for layer in fresh:
            layer.reset_state()
        of_losses.restore()


def refuse_shuffled(model: Module, source: Source) -> None:
    """Raise if rows are shuffled while a layer carries the state of each row to the next batch.

    Raises:
        ArgumentError: there is such a layer; the message names it.
    """
    if not getattr(source, "shuffle", False) or not (layers := _stateful(model)):
        return
    first = layers[0]
    raise ArgumentError(
        f"fit(shuffle=True) of a model with {type(first).__name__} {first._gx_path!r}, stateful=True",
        "row i of a batch goes on from row i of the batch before, and a new order puts other sequences there",
        "fit(..., shuffle=False), with the parts of each sequence in the same row of consecutive batches",
    )


def _stateful(model: Module) -> list[Stateful]:
    return [one for one in parts_of(model).stateful if one.stateful]
