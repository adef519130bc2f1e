"""DataParallel: weights are replicated on all devices, and each device computes a part of the rows."""

from __future__ import annotations

from graftax.distribution.distribution import Distribution


class DataParallel(Distribution):
    """Data parallelism: weights are replicated, each device computes a part of the rows, and gradients are summed.

    For models that fit on one device. Weights that rules select are sharded nevertheless.

    Args:
        mesh: A result of `mesh`. Defaults to None: all devices on one axis ``"data"``.
        rules: Pairs ``(selector, axes)``; see `Distribution`. Defaults to none.
        data: The axis, or axes, over which the rows of a batch are sharded. Defaults to ``"data"``.
        tolerance: The fraction of bytes, from 0 to 1, that may stay replicated although they should be sharded.
            Defaults to 0.02.

    Example:
        >>> import numpy as np, graftax as gx
        >>> d = DataParallel(gx.distribution.mesh(data=1))
        >>> with d.scope():
        ...     model = gx.Sequential([gx.layers.Dense(1)])
        >>> model.compile("sgd", "mse")
        >>> history = model.fit(np.ones((8, 2)), np.ones((8, 1)), batch_size=4, verbose=0)
    """
