"""What `compile` takes as losses and their factors, checked before any output of the model is known."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from graftax import ops
from graftax.core import tree
from graftax.core.errors import ArgumentError, ArgumentTypeError, ShapeError
from graftax.core.typedefs import Array
from graftax.losses import registry as losses
from graftax.losses.loss import Loss


def check_losses(loss: object, weights: Any) -> None:
    """Raise for losses and weights that are invalid for any outputs, already at `compile`, where the mistake is.

    Args:
        loss: What `compile` was given as ``loss``.
        weights: What it was given as ``loss_weights``.

    Raises:
        ArgumentError: there is no loss in it, a factor is no finite number, or there is nothing to weigh.
        ArgumentTypeError: the factors are no list or dict.
    """
    found = [one for one in tree.flatten(loss) if one is not None]
    if loss is not None and not found:
        raise ArgumentError(f"loss={loss!r}", "there is no loss in it", 'loss="mse"')
    for one in found:
        losses.get(one)
    if weights is None:
        return
    if not isinstance(weights, Mapping | list | tuple):
        raise ArgumentTypeError(
            f"loss_weights={weights!r}",
            "it has a factor for the loss of each output",
            "loss_weights=[1.0, 0.5], or {'output': 0.5}",
        )
    if not found:
        raise ArgumentError(f"loss_weights={weights!r} without a loss", "there is nothing to weigh", 'loss="mse"')
    if isinstance(weights, Mapping) and isinstance(loss, Mapping):
        idle = [name for name, factor in weights.items() if factor is not None and loss.get(name) is None]
        if idle:
            raise ArgumentError(
                f"loss_weights={weights!r}",
                f"there is no loss for {', '.join(map(repr, idle))}: the losses are for {', '.join(map(repr, loss))}",
                f"a loss for it, or loss_weights without {idle[0]!r}",
            )
    for factor in weights.values() if isinstance(weights, Mapping) else weights:
        if factor is not None and not (_is_number(factor) and math.isfinite(float(factor))):
            raise ArgumentError(
                f"loss_weights={weights!r}", f"{factor!r} is no finite number", "loss_weights=[1.0, 0.5]"
            )


def check_factor(factor: Any, name: str) -> Any:
    """Return the factor of an output, which may have been changed after `compile`; an array may be a traced one.

    Raises:
        ArgumentError: it is no finite number.
    """
    if factor is None or (math.isfinite(factor) if isinstance(factor, int | float) else _is_number(factor)):
        return factor
    raise ArgumentError(
        f"compiled_loss_weights has {factor!r:.60} for {name!r}",
        "a factor is a finite number",
        f"model.compiled_loss_weights[{name!r}] = 0.5",
    )


def one_number(model: Any, loss: Array) -> Any:
    """Return the loss of a step, if it is one number.

    Raises:
        ShapeError: it is several, as a loss without a reduction gives.
    """
    shape = tuple(ops.shape(loss)) if hasattr(loss, "shape") else ()
    if not shape:
        return loss
    given = model._gx_objectives
    for one in tree.flatten(None if given is None else given.given_arguments()["loss"]):
        if isinstance(one, Loss) and one.reduction == "none":
            kind = type(one).__name__
            raise ShapeError(
                f"the loss {kind}(reduction='none') gave {list(shape)} numbers in a step",
                "without a reduction there is one for each sample, and a step trains on one number and shows it",
                f'compile(loss={kind}()), which takes the mean, or {kind}(reduction="sum"); to weigh samples, '
                "fit(sample_weight=...); for another reduction compute_loss, or a train_step and test_step of your own",
            )
    raise ShapeError(
        f"the loss of {type(model).__name__} has shape {list(shape)}",
        "a step trains on one number and shows it",
        "return ops.mean(loss) in compute_loss",
    )


def _is_number(factor: object) -> bool:
    return isinstance(factor, int | float) or (hasattr(factor, "__float__") and not isinstance(factor, str))
