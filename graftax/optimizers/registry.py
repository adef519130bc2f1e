"""Optimizers by name, for ``model.compile("adam")``."""

from __future__ import annotations

from collections.abc import Callable

from graftax.core.errors import ArgumentTypeError
from graftax.core.known_names import unknown
from graftax.core.short_traceback import door
from graftax.optimizers import named
from graftax.optimizers.minimizer import Minimizer, check_signature
from graftax.optimizers.optimizer import Optimizer
from graftax.variables.graph.module import Module

NAMES: dict[str, Callable[[], Optimizer]] = {
    name.lower(): kind for name, kind in vars(named).items() if isinstance(kind, type)
}
"""The optimizers, by the names of their classes in small letters."""


@door
def get(optimizer: str | Minimizer) -> Minimizer:
    """Return the optimizer itself, or one with default arguments by its name.

    Raises:
        ArgumentError: there is none of that name.
        ArgumentTypeError: it is neither a name nor something that minimizes in the way that training asks for.

    Example:
        >>> get("adam")
        Adam(learning_rate=0.001)
    """
    if isinstance(optimizer, Module) and isinstance(optimizer, Minimizer):
        check_signature(optimizer)
        return optimizer
    if isinstance(optimizer, type) and issubclass(optimizer, Module):
        raise ArgumentTypeError(
            f"optimizer={optimizer.__name__}, the class", "one is made first", f"optimizer={optimizer.__name__}(...)"
        )
    if not isinstance(optimizer, str):
        raise ArgumentTypeError(
            f"optimizer={optimizer!r:.60}",
            "it is a name, a graftax optimizer, or another graftax.Module with minimize(loss_fn, variables, has_aux)",
            _suggest_optimizer(optimizer),
        )
    if optimizer.lower() not in NAMES:
        raise unknown("optimizer", optimizer, NAMES, "or an optimizer: graftax.optimizers.Adam(1e-3)")
    return NAMES[optimizer.lower()]()


def _suggest_optimizer(value: object) -> str:
    if hasattr(value, "init") and hasattr(value, "update"):
        return "optimizer=graftax.optimizers.Optax(transformation)"
    return "optimizer=graftax.optimizers.Adam(1e-3)"
