"""Settings that are arrays: small ones by their numbers, larger ones by a checksum, and none that are data."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, TypeGuard

import numpy as np

from graftax.backend import registry

DTYPE = "<array>"
"""The key under which a larger array has its dtype, which marks the dict as an array."""
_SHOWN = 64
"""The most numbers of an array that is kept as a list."""
_MOST_BYTES = 1 << 16
"""The size from which an array is data, as in what compiled code compares."""


def array_setting(value: object) -> Any:
    """Return an array as a setting: a list of its numbers, or its dtype, shape and checksum.

    None for what is no array of numbers, has no values now, or is too large for a setting.

    Example:
        >>> array_setting(np.array([0.5, 1.0]))
        [0.5, 1.0]
        >>> sorted(array_setting(np.zeros(100)))
        ['<array>', 'sha256', 'shape']
    """
    host = _on_host(value)
    if host is None or host.dtype.hasobject or host.dtype.names is not None or host.dtype.kind in "mM":
        return None
    if host.nbytes > _MOST_BYTES:
        return None
    if host.size <= _SHOWN:
        return host.tolist()
    checksum = hashlib.sha256(np.ascontiguousarray(host).tobytes()).hexdigest()[:16]
    return {DTYPE: str(host.dtype), "shape": list(host.shape), "sha256": checksum}


def is_checksum(value: object) -> TypeGuard[dict[str, Any]]:
    """Return True for what `array_setting` returned of a larger array, also when it has been saved in a file."""
    return isinstance(value, dict) and DTYPE in value


def text_of_array(checksum: Mapping[str, Any]) -> str:
    """Return how a larger array is shown in messages.

    Example:
        >>> text_of_array(array_setting(np.zeros(100)))
        'float64 [100] with checksum 67042dfd'
    """
    return f"{checksum[DTYPE]} {checksum.get('shape')} with checksum {checksum.get('sha256')!s:.8}"


def _on_host(value: object) -> np.ndarray[Any, Any] | None:
    if isinstance(value, np.ndarray):
        return value
    arrays = registry.current().arrays
    known: Any = value
    if not arrays.is_array(value) or not arrays.is_concrete(value) or not getattr(known, "is_fully_addressable", True):
        return None  # of several processes, each has only a part of it
    return None if known.size * known.dtype.itemsize > _MOST_BYTES else arrays.to_numpy(known)
