"""Data of 64 bits whose differences are lost in 32 bits, of which layers that adapt to them warn."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from graftax.core import user_line

_Host: TypeAlias = np.ndarray[Any, Any]

# Below this share of a standard deviation, or of the values, rounding is no more than noise.
_SHARE = 0.01
# What float64 itself cannot tell from a constant.
_CONSTANT = 1e-12


def rounding_errors(batch: _Host, dtype: str, over: tuple[int, ...]) -> _Host:
    """Return how far numbers move at most when they are rounded, for each element of the axes that are not ``over``."""
    if np.can_cast(batch.dtype, dtype):
        return np.zeros(())
    return np.asarray(np.abs(batch - batch.astype(dtype).astype("float64")).max(over, initial=0))


def warn_of_lost_spread(layer: str, dtype: str, errors: _Host, mean: _Host, deviation: _Host) -> None:
    """Warn if features of a data set are rounded by a visible part of their standard deviation.

    Args:
        layer: The title of the layer.
        dtype: In which the layer reads its inputs.
        errors: What `rounding_errors` gives, for the whole data set.
        mean: The means, of the same shape.
        deviation: The standard deviations.
    """
    lost = (errors > _SHARE * deviation) & (deviation > _CONSTANT * np.abs(mean))
    if lost.any():
        place = tuple(map(int, np.argwhere(lost)[0]))
        _warn(
            layer,
            dtype,
            f"numbers around {float(mean[place]):.9g} by up to {float(errors[place]):.3g}, where their standard "
            f"deviation is {float(deviation[place]):.3g}" + (f" (element {place} of its statistics)" if place else ""),
        )


def warn_of_other_bins(layer: str, dtype: str, values: _Host, boundaries: _Host) -> None:
    """Warn if a visible part of a data set changes its bins when values and boundaries are rounded.

    Args:
        layer: The title of the layer.
        dtype: In which the layer reads its inputs.
        values: The data, in float64.
        boundaries: Of the bins, in float64.
    """
    exact = np.searchsorted(boundaries, values, side="right")
    rounded = np.searchsorted(boundaries.astype(dtype), values.astype(dtype), side="right")
    share = float(np.mean(exact != rounded))
    if share > _SHARE:
        _warn(layer, dtype, f"numbers around {float(np.median(values)):.9g} so that {share:.0%} of them change bins")


def _warn(layer: str, dtype: str, what: str) -> None:
    user_line.warn(
        f"{layer} reads its inputs in {dtype}, which rounds {what}. Instead: layer.adapt(x - offset), with an offset "
        "such as x.min(0), and the same offset taken from what the model gets, both before the numbers are rounded"
    )
