"""Between NumPy arrays and the bytes of data files."""

import sys
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from graftax.backend.host import host_dtype
from graftax.checkpoint.dtypes import DTYPES
from graftax.core.errors import BackendError, UnsupportedValue
from graftax.core.typedefs import Shape

HostArray: TypeAlias = "np.ndarray[Any, Any]"
ALIGNMENT = 64
"""The alignment of arrays in memory, in bytes. Backends can use memory at such an address without a copy."""

_LARGE_PAGE = 2 << 20
"""The size, in bytes, of the memory pages that NumPy requests for large arrays."""

_MEMORY = frozenset(
    map(np.dtype, ("float32", "float64", "float16", "int32", "int64", "uint32", "uint64", "uint8", "int8"))
)
"""Native dtypes whose arrays support Python's buffer protocol; arrays of other dtypes are first viewed as bytes."""

if sys.byteorder != "little":  # the files are little-endian, and no backend runs on anything else
    raise BackendError(
        f"a {sys.byteorder}-endian machine",
        "checkpoints are read and written on little-endian ones",
        "a little-endian machine, such as x86-64 or arm64",
    )


def to_bytes(array: HostArray, path: str) -> memoryview:
    """Return the bytes of an array as a data file holds them, without a copy where possible.

    Raises:
        UnsupportedValue: the format has no such dtype.
    """
    if array.dtype in _MEMORY and array.size and array.flags.c_contiguous:  # fast path for thousands of small arrays
        return array.data.cast("B")
    name = dtype_name(array.dtype)
    check_dtype(name, path)
    if not array.dtype.isnative:  # big-endian arrays have the same dtype name
        array = array.astype(array.dtype.newbyteorder("="))
    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return (_pack_bits(flat, DTYPES[name].bits) if DTYPES[name].layout == "packed" else flat).data


@cache
def dtype_name(dtype: Any) -> str:
    """Return the name of a dtype. The result is cached, since NumPy computes it at each access."""
    return str(dtype.name)


def check_dtype(name: str, path: str) -> None:
    """Raise unless the format has a dtype.

    Raises:
        UnsupportedValue: the format does not have this dtype.
    """
    if name not in DTYPES:
        raise UnsupportedValue(
            f"an array of dtype {name} at {path}",
            "a checkpoint does not hold that dtype",
            f"one of {', '.join(DTYPES)}",
        )


def from_bytes(data: HostArray, dtype: str, shape: Shape) -> HostArray:
    """Return the array that these bytes hold, sharing their memory where possible."""
    kind = DTYPES[dtype]
    if kind.layout == "packed":
        data = _unpack_bits(data, kind.bits)[: int(np.prod(shape, dtype=object))]
    elif dtype == "bool":
        data = data != 0  # a byte other than 0 and 1 is not a valid bool
    return data.view(host_dtype(dtype)).reshape(shape)


def _pack_bits(elements: HostArray, bits: int) -> HostArray:
    per_byte = 8 // bits
    padded = np.zeros(-(-len(elements) // per_byte) * per_byte, np.uint8)
    padded[: len(elements)] = elements & (1 << bits) - 1
    columns = padded.reshape(-1, per_byte)
    result = np.zeros(len(columns), np.uint8)
    for i in range(per_byte):
        result |= columns[:, i] << (i * bits)
    return result


def _unpack_bits(data: HostArray, bits: int) -> HostArray:
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    return ((data[:, None] >> shifts) & (1 << bits) - 1).reshape(-1)


def make_aligned_buffer(size: int) -> HostArray:
    """Return an uninitialized buffer whose address is a multiple of 64."""
    # NumPy requests large pages. A buffer that starts at a page boundary needs one page fault per 2 MB, not 512. The
    # bytes before the boundary are never touched, so they take no memory.
    border = _LARGE_PAGE if size >= 2 * _LARGE_PAGE else ALIGNMENT
    whole = np.empty(size + border, np.uint8)
    begin = -whole.ctypes.data % border
    return whole[begin : begin + size]


def can_cast(source: str, target: str, cast: str) -> bool:
    """Return True if a cast policy, ``exact``, ``safe`` (widening) or ``any``, lets one dtype become another."""
    if source == target or cast == "any":
        return True
    return cast == "safe" and bool(np.can_cast(host_dtype(source), host_dtype(target), "safe"))
