"""Settings of losses that are plain functions, checked as the classes check them, where their values are at hand."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

import numpy as np

from graftax.core import hyperparameters
from graftax.objectives import weights

_T = TypeVar("_T")


def check_at_hand(check: Callable[[_T], object], value: _T) -> None:
    """Check a setting, if it is a number or a list of some: arrays and Variables may be computed, or learned.

    Args:
        check: Raises for a value that makes no sense.
        value: What was given.

    Example:
        >>> check_at_hand(check_delta, 2.0)
    """
    parts = value if isinstance(value, list | tuple) else (value,)
    if all(isinstance(one, np.generic | np.ndarray) or not hasattr(one, "dtype") for one in parts):
        check(value)


def check_delta(value: float) -> float:
    """Return where a parabola turns into a line."""
    return hyperparameters.check_distance("delta", value)


def check_focus(value: float) -> float:
    """Return how much less a good prediction counts."""
    return hyperparameters.check_not_negative("gamma", value, "it is the power of the focus, from 0 up", 2.0)


def check_share(value: float) -> float:
    """Return the weight of one of two classes."""
    reason = "it is the weight of one of two classes, in [0, 1]"
    return hyperparameters.check_number("alpha", value, lambda share: 0 <= share <= 1, reason, 0.25)


def check_mistake(name: str, value: float) -> float:
    """Return how much a mistake counts."""
    return hyperparameters.check_not_negative(name, value, "it says how much a mistake counts, from 0 up", 0.5)


check_pos_weight = partial(weights.one_or_more, "pos_weight")
check_factors = partial(weights.one_or_more, "alpha")
