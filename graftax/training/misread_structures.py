"""Dicts and lists given to a model of one array: with targets in them, or as batches, and what to write instead."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from graftax.core.errors import ArgumentTypeError, GraftaxError, ShapeError

_CALLED = " called with "


def explain_structure(error: Exception, x: object, y: object, learns: bool) -> None:
    """Say of an error that the model takes one array, and got a whole dict or list, which is all inputs.

    Args:
        error: The error of a step; another one than of such a call is left as it is.
        x: The inputs of the batch.
        y: Its targets, or None.
        learns: Whether the step has targets, as those of fit and evaluate.
    """
    if not isinstance(error, ArgumentTypeError | ShapeError) or not isinstance(x, Mapping | list) or len(x) == 0:
        return
    calls = {line.partition(_CALLED)[2] for line in error.context if _CALLED in line}
    if len(calls) != 1:  # a layer inside got something else
        return
    stacked = "" if isinstance(x, Mapping) else f"got an array of shape {(len(x), *np.shape(x[0]))}"
    if not error.received.startswith(_OF_ONE) and not (stacked and stacked in error.received):
        return
    if isinstance(x, Mapping):
        _tell_of_dict(error, list(map(str, x)), has_targets=y is not None, learns=learns)
    elif not learns:
        error.received = f"x is a list of {len(x)} arrays, for a model that takes one"
        error.reason = "a list of arrays is the inputs of a model with several, and no list of batches"
        error.instead = "predict(iter(x)) for batches; np.concatenate(x) for the rows of one array"


_OF_ONE = ("shape: x = ", "several inputs, or none")
"""How the errors begin of what takes one array, and got several."""


def _tell_of_dict(error: GraftaxError, names: list[str], has_targets: bool, learns: bool) -> None:
    last = names[-1]
    error.received = f"x is a dict with {', '.join(map(repr, names)):.200}, for a model that takes one array"
    error.reason = "all that is in a dict are inputs"
    error.instead = f"x[{names[0]!r}], the array alone; gx.data.columns(batches, x={names[0]!r}) for batches"
    if learns and not has_targets and len(names) > 1:
        error.reason += ', unless y="..." names the targets'
        error.instead = f"fit(x, y={last!r}), where {last!r} are the targets"
        if len(names) > 2:
            error.instead = (
                f"gx.data.columns(batches, x={names[0]!r}, y={last!r}), or fit(x[{names[0]!r}], x[{last!r}])"
            )
    elif learns and not has_targets:
        error.instead = f"fit(x[{names[0]!r}], y), with targets"
