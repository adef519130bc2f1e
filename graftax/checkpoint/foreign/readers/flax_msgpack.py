"""``flax.serialization.to_bytes(state)``: nested dicts in msgpack, arrays as an extension; needs no flax.

Source: the extension codes of flax.serialization: 1 for arrays, 2 for complex numbers, 3 for scalars of NumPy.
"""

from __future__ import annotations

from math import prod
from typing import Any

import msgpack  # type: ignore[import-untyped]
import numpy as np

from graftax.checkpoint.arrays import HostArray, from_bytes
from graftax.checkpoint.dtypes import DTYPES
from graftax.checkpoint.dtypes import nbytes as bytes_of
from graftax.checkpoint.foreign.foreign_array import ForeignArray, ForeignFile
from graftax.checkpoint.foreign.readers.regular_file import RegularFile
from graftax.checkpoint.foreign.readers.wrong_content import AGAIN, unreadable_error
from graftax.core.errors import CheckpointError, CorruptMetadata, NotACheckpoint, UnsafeCheckpoint
from graftax.core.typedefs import Shape

_DEPTH = 64
_CHUNKED = "__msgpack_chunked_array__"


def read_flax(path: str) -> ForeignFile:
    """Return the arrays of a msgpack file of Flax, names joined by slashes.

    Args:
        path: The file.

    Raises:
        NotACheckpoint: there is no file, or it has no arrays.
        CorruptCheckpoint, UnsafeCheckpoint: it is damaged, or has other content.
    """
    file = RegularFile(path)
    data = file.bytes(0, file.size).tobytes()
    try:
        found = msgpack.unpackb(data, ext_hook=_extension, raw=False, strict_map_key=False, object_pairs_hook=_dict)
    except CheckpointError as error:
        error.add_context(path)
        raise
    except (ValueError, TypeError, RecursionError, msgpack.UnpackException, msgpack.StackError, MemoryError) as error:
        reason = f"reading it as msgpack fails with {type(error).__name__}: {error}"
        raise unreadable_error(path, "a msgpack file of Flax", reason) from None
    if type(found) is not dict:
        raise NotACheckpoint(
            f"{path} has one value of type {type(found).__name__}",
            "Flax writes dicts of dicts of arrays",
            'open(path, "wb").write(flax.serialization.to_bytes(params))',
        )
    arrays = dict(flatten(found, path))
    if not arrays:
        raise NotACheckpoint(
            f"{path} has no arrays",
            "the file is readable, and there is no array in it",
            'open(path, "wb").write(flax.serialization.to_bytes(params))',
        )
    return ForeignFile(path, arrays, "flax", keeps_order=False)


def flatten(value: Any, path: str, prefix: str = "", depth: int = 0) -> list[tuple[str, ForeignArray]]:
    """Return the arrays in nested dicts, with names joined by slashes. Numbers, text and None are ignored."""
    if depth > _DEPTH:
        raise UnsafeCheckpoint(
            f"{path} has dicts in dicts, deeper than {_DEPTH} levels",
            "no model has so many; the file was damaged or forged",
            "flax.serialization.to_bytes(params) of the parameters alone",
        )
    if type(value) is dict and value.get(_CHUNKED) is True:
        value = _join_pieces(value, path)
    if isinstance(value, np.ndarray):
        return [(prefix, ForeignArray(prefix, value.shape, value.dtype.name, lambda: value))]
    if type(value) is list:
        value = dict(enumerate(value))
    found = []
    for key, item in value.items() if type(value) is dict else ():
        found += flatten(item, path, f"{prefix}/{key}" if prefix else str(key), depth + 1)
    return found


def _dict(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name occurs twice")
    return found


def _extension(code: int, data: bytes) -> Any:
    if code == 2:
        return msgpack.unpackb(data)
    if code not in (1, 3):
        raise UnsafeCheckpoint(
            f"a value of the msgpack extension type {code}",
            "Flax writes the types 1, 2 and 3: arrays, complex numbers and NumPy scalars",
            "flax.serialization.to_bytes(params) with parameters that are arrays and numbers",
        )
    shape, dtype, content = msgpack.unpackb(data)
    return _array(shape, dtype, content)


def _array(shape: object, dtype: object, content: object) -> HostArray:
    if type(shape) is not list or not all(type(n) is int and 0 <= n < 1 << 62 for n in shape) or len(shape) > 32:
        raise ValueError(f"the shape {shape!r:.100}")
    if type(dtype) is not str or dtype not in DTYPES or DTYPES[dtype].layout == "packed" or type(content) is not bytes:
        raise ValueError(f"an array of dtype {dtype!r:.100}")
    sizes: Shape = tuple(shape)
    if bytes_of(dtype, sizes) != len(content):
        raise ValueError(f"{len(content):,} bytes for {dtype} of shape {sizes}")
    return from_bytes(np.frombuffer(content, np.uint8), dtype, sizes)


def _join_pieces(value: dict[Any, Any], path: str) -> HostArray:
    """Return a large array, which Flax has split into pieces."""
    shape, chunks = value.get("shape"), value.get("chunks")
    sizes: Any = list(shape.values()) if type(shape) is dict else shape
    parts: Any = list(chunks.values()) if type(chunks) is dict else chunks
    is_right = (
        type(sizes) is list
        and all(type(n) is int and n >= 0 for n in sizes)
        and type(parts) is list
        and bool(parts)
        and all(isinstance(part, np.ndarray) for part in parts)
    )
    if not is_right or sum(part.size for part in parts) != prod(sizes):
        raise CorruptMetadata(
            f"an array of {path}, which Flax has split into pieces",
            "the pieces together do not have the size of its shape: the file is damaged",
            AGAIN,
        )
    return np.concatenate([part.reshape(-1) for part in parts]).reshape(sizes)
