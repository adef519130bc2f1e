"""Values that lie over the devices of several processes, on the host of each."""

from __future__ import annotations

from typing import Any

import numpy as np

from graftax.backend import registry
from graftax.backend.rendezvous import process_group
from graftax.core.typedefs import Array


def gather_whole(x: Array) -> np.ndarray[Any, Any]:
    """Return the whole values of an array on the host, in all processes; all call it.

    Example:
        >>> import graftax as gx
        >>> gather_whole(gx.ops.ones((2,))).tolist()
        [1.0, 1.0]
    """
    backend = registry.current()
    return backend.arrays.to_numpy(x) if process_group() is None else backend.meshes.gather(x)
