"""Whether a loss depends on what is trained: one that ignores the predictions would train nothing, and say nothing."""

from __future__ import annotations

from typing import Any

from graftax.backend import registry
from graftax.core.errors import GradientError
from graftax.optimizers.optimizer import Optimizer


def level_around() -> Any:
    """Return where operations go now, before a gradient is taken; None where the backend traces nothing."""
    backend = registry.current()
    return backend.tracing.level() if backend.has("tracing") else None


def require_dependent(loss: object, level: object, optimizer: object) -> None:
    """Raise if a loss does not come out of the trace of a gradient, so that every gradient is zero.

    Args:
        loss: What was computed while the gradient is taken.
        level: What `level_around` gave before.
        optimizer: Who takes the gradient; of others than ours nobody knows what their ``minimize`` does.

    Raises:
        GradientError: no trainable Variable has a part in the loss.
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
