"""The check that a loss depends on trainable Variables: otherwise training would change nothing, without an error."""

from __future__ import annotations

from typing import Any

from graftax.backend import registry
from graftax.core import user_line
from graftax.core.errors import GradientError
from graftax.layers.layer import Layer
from graftax.optimizers.optimizer import Optimizer


def level_around() -> Any:
    """Return the present trace level, before a gradient is computed; None if the backend does not trace."""
    backend = registry.current()
    return backend.tracing.level() if backend.has("tracing") else None


def require_dependent(loss: object, level: object, optimizer: object) -> None:
    """Raise if a loss is not part of the trace of a gradient, so that all gradients are zero.

    Args:
        loss: The loss that was computed inside of the gradient.
        level: The result of `level_around` before.
        optimizer: The optimizer; only those of graftax are checked, since others may use the loss in another way.

    Raises:
        GradientError: the loss depends on no trainable Variable.
    """
    if level is None or not isinstance(optimizer, Optimizer) or type(optimizer).minimize is not Optimizer.minimize:
        return
    if not registry.current().tracing.leaks(loss, level):
        raise GradientError(
            "a loss that depends on no trainable Variable",
            "its gradient is zero everywhere, and training would change nothing: it does not use y_pred, or only "
            "through stop_gradient, rounding, argmax or NumPy",
            "loss=lambda y_true, y_pred: ops.mean((y_true - y_pred) ** 2, axis=-1); or model.trainable = False to "
            "measure alone",
        )


def warn_of_frozen(model: Layer) -> None:
    """Warn of a model whose weights are all frozen: a step trains nothing. One without weights is let be."""
    frozen = [variable for variable in model.variables if variable.trainability.made]
    if frozen:
        user_line.warn(
            f"nothing is trained: all weights of {model._gx_title()} are frozen, {frozen[0].path!r} for one. What is "
            "trainable is asked at each step, not kept from compile(): model.trainable = True, or "
            "model.unfreeze(where); to leave a part alone in the training of a larger model only, freeze it for that "
            'optimizer: Adam(1e-3, rules=[("layers/1/**", {"frozen": True})])'
        )
