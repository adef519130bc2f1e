"""Local rows of all processes as one array over all devices."""

from __future__ import annotations

from typing import Any

import numpy as np

from graftax.backend.meshes import Axes
from graftax.core.errors import DataError
from graftax.distribution.placing import Placing


def join_local_rows(distribution: Placing, rows: np.ndarray[Any, Any], before: int) -> Any:
    """Return the array of the rows of all processes.

    Args:
        distribution: The distribution with the data axes.
        rows: The rows of this process.
        before: The number of axes before that of the rows.

    Raises:
        DataError: the number of rows is not divisible by the devices of this process.
    """
    meshes = distribution.backend.meshes
    axes: Axes = (*(None,) * before, distribution.data)
    sharding = meshes.sharding(distribution.mesh, axes)
    parts = meshes.local_parts(sharding, before)
    count = rows.shape[before]
    if count % parts:
        raise DataError(
            f"a batch of {count} rows of this process, whose devices are {parts} along {distribution.data}",
            "each takes as many, and the rows of other processes are not here to fill up",
            f"batches of {max(count // parts, 1) * parts} rows, and no shorter one at the end (drop_last=True)",
        )
    return meshes.join_rows(rows, sharding)
