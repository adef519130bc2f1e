"""Losses by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graftax.core.errors import ArgumentTypeError
from graftax.core.known_names import unknown
from graftax.core.short_traceback import door
from graftax.losses import (
    classification,
    contrastive,
    focal,
    functions,
    functions_of_batches,
    likelihood,
    overlap,
    regression,
)
from graftax.losses.foreign_names import NAMES
from graftax.losses.loss import FunctionLoss, Loss
from graftax.variables.graph.module import Module, snake_case

_CLASSES: tuple[type[Loss], ...] = (
    regression.MeanSquaredError,
    regression.MeanAbsoluteError,
    regression.MeanAbsolutePercentageError,
    regression.MeanSquaredLogarithmicError,
    regression.Huber,
    regression.LogCosh,
    regression.Poisson,
    regression.CosineSimilarity,
    classification.BinaryCrossentropy,
    classification.CategoricalCrossentropy,
    classification.SparseCategoricalCrossentropy,
    classification.CategoricalGeneralizedCrossEntropy,
    classification.KLDivergence,
    classification.Hinge,
    classification.SquaredHinge,
    classification.CategoricalHinge,
    focal.BinaryFocalCrossentropy,
    focal.CategoricalFocalCrossentropy,
    overlap.Dice,
    overlap.Tversky,
    contrastive.Circle,
    contrastive.NTXent,
    contrastive.TripletSemiHard,
    likelihood.GaussianNLL,
    likelihood.CTC,
)
_SHORT: dict[str, type[Loss]] = {
    "mse": regression.MeanSquaredError,
    "mae": regression.MeanAbsoluteError,
    "mape": regression.MeanAbsolutePercentageError,
    "msle": regression.MeanSquaredLogarithmicError,
    "bce": classification.BinaryCrossentropy,
    "kld": classification.KLDivergence,
}
_NAMES = {snake_case(cls.__name__): cls for cls in _CLASSES} | _SHORT
_SPELLINGS = (
    _NAMES
    | {cls.__name__: cls for cls in _CLASSES}
    | {name.upper(): cls for name, cls in _SHORT.items()}
    | {"logcosh": regression.LogCosh, "kullback_leibler_divergence": classification.KLDivergence}
)
"""What Keras takes, too: names of classes, capitals, and two old names."""


_FUNCTIONS: dict[Any, type[Loss]] = {
    function: _NAMES[name]
    for module in (functions, functions_of_batches)
    for name, function in vars(module).items()
    if name in _NAMES and callable(function)
}
"""The functions of `graftax.losses` stand for their classes, which know what a mask may hide."""


@door
def get(loss: str | Loss | Callable[[Any, Any], Any]) -> Loss:
    """Return a loss from its name, from a function of ``(y_true, y_pred)``, or as it is.

    A name is the class name, as it is or in snake case (``"Huber"``, ``"mean_squared_error"``), or a short one.

    Raises:
        ArgumentError: no loss has that name.
        ArgumentTypeError: it is a class, a metric, or nothing that can be called.

    Example:
        >>> get("mse")
        MeanSquaredError(reduction='sum_over_batch_size')
        >>> get(lambda y_true, y_pred: abs(y_true - y_pred)).name
        'function_loss'
    """
    if isinstance(loss, Loss):
        return loss
    if isinstance(loss, str):
        if loss not in _SPELLINGS:
            raise unknown("loss", loss, _NAMES, foreign=NAMES)
        return _SPELLINGS[loss]()
    if loss in _FUNCTIONS:
        return _FUNCTIONS[loss]()
    if isinstance(loss, Module) and hasattr(loss, "update_state"):
        raise ArgumentTypeError(
            f"loss={loss!r}",
            "a metric adds up over many batches, where a loss is of one",
            f'loss="{loss.name}", or a Loss',
        )
    if isinstance(loss, type) or not callable(loss):
        shown = f"{loss.__name__}()" if isinstance(loss, type) else '"mse"'
        raise ArgumentTypeError(
            f"loss={loss!r}", "a loss is a name, a Loss, or a function of (y_true, y_pred)", f"loss={shown}"
        )
    return FunctionLoss(loss)
