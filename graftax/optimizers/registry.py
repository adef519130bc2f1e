"""Optimizers by name, for ``model.compile("adam")``."""

from __future__ import annotations

from collections.abc import Callable

from graftax.known_names import unknown
from graftax.optimizers.adam import Adam
from graftax.optimizers.adamw import AdamW
from graftax.optimizers.optimizer import Optimizer
from graftax.optimizers.sgd import SGD

_CLASSES: tuple[Callable[[], Optimizer], ...] = (
    SGD,
    Adam,
    AdamW,
)
NAMES: dict[str, Callable[[], Optimizer]] = {getattr(kind, "__name__", "").lower(): kind for kind in _CLASSES}


def get(optimizer: str | Optimizer) -> Optimizer:
    """The optimizer itself, or one with default arguments by its name.

    Raises:
        ArgumentError: there is none of that name.

    Example:
        >>> get("adam")
        Adam(learning_rate=0.001)
    """
    if isinstance(optimizer, Optimizer):
        return optimizer
    if not isinstance(optimizer, str) or optimizer.lower() not in NAMES:
        raise unknown("optimizer", optimizer, NAMES, "or an optimizer: graftax.optimizers.Adam(1e-3)")
    return NAMES[optimizer.lower()]()
