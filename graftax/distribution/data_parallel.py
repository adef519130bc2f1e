"""DataParallel: every device has all weights, and computes its share of the rows."""

from __future__ import annotations

from graftax.distribution.distribution import Distribution


class DataParallel(Distribution):
    """Every device has all weights, and computes its share of the rows; gradients are those of the whole batch.

    For models that fit on one device. Weights that rules name are split all the same.

    Args:
        mesh: From `mesh`. Defaults to None, all devices on one axis ``"data"``.
        rules: Pairs ``(selector, axes)``; see `Distribution`. Defaults to none.
        data: The axis, or axes, over which the rows of a batch are spread. Defaults to ``"data"``.
        tolerance: The share of bytes that may stay whole although they were to be split. Defaults to 0.02.

    Example:
        >>> import numpy as np, graftax as gx
        >>> d = DataParallel(gx.distribution.mesh(data=1))
        >>> with d.scope():
        ...     model = gx.Sequential([gx.layers.Dense(1)])
        >>> model.compile("sgd", "mse")
        >>> history = model.fit(np.ones((8, 2)), np.ones((8, 1)), batch_size=4, verbose=0)
    """
