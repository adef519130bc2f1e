"""Losses and metrics of users that take the mask themselves, such as one that gives one number for a sequence.

What a mask of steps hides cannot be taken out of one number for a whole sequence afterwards. So a function, or the
`call` of a subclass, with a parameter ``mask`` gets the mask, and leaves hidden steps out itself.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import Parameter, signature
from typing import Any

from graftax import ops
from graftax.core.typedefs import Array, ArrayLike
from graftax.objectives.batch_axis import is_of_user
from graftax.objectives.hiding import as_condition

_NAMED = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


def takes_mask(function: Callable[..., Any]) -> bool:
    """Return True if somebody wrote this function with a parameter ``mask``, and has not given it a value."""
    if not is_of_user(function) or (isinstance(function, partial) and "mask" in function.keywords):
        return False
    try:
        found = signature(function).parameters.get("mask")
    except (TypeError, ValueError):
        return False
    return found is not None and found.kind in _NAMED


def of_whole_values(mask: ArrayLike, values: Array) -> ArrayLike | None:
    """Return which values count, of a function that took the mask: those of samples of which anything does.

    Args:
        mask: The mask.
        values: One number for each sample, or more; or one for the batch, of which nobody can take anything out: None.
    """
    keep = as_condition(mask)
    if values.ndim == 0:
        return None
    if keep.ndim <= values.ndim or keep.shape[: values.ndim] != values.shape:
        return mask
    return ops.any(keep, axis=tuple(range(values.ndim, keep.ndim)))
