"""``.npz``: arrays of NumPy in a zip archive. Arrays of Python objects are refused."""

from __future__ import annotations

from typing import IO, Any

import numpy as np

from graftax.checkpoint.arrays import HostArray, dtype_name
from graftax.checkpoint.foreign.definition_order import is_definition_order
from graftax.checkpoint.foreign.foreign_array import ForeignArray, ForeignFile
from graftax.checkpoint.foreign.readers.wrong_content import AGAIN
from graftax.checkpoint.foreign.readers.zip_archive import ZipArchive
from graftax.core.errors import CorruptMetadata, UnsafeCheckpoint
from graftax.core.typedefs import Shape


def read_npz(path: str) -> ForeignFile:
    """Return the arrays of an ``.npz`` file.

    Args:
        path: The file.

    Raises:
        NotACheckpoint: there is no file.
        UnsafeCheckpoint: an entry holds Python objects.
        CorruptCheckpoint: it is damaged.
    """
    archive = ZipArchive(path)
    try:
        arrays = {name.removesuffix(".npy"): _array(archive, name) for name in archive.names if name.endswith(".npy")}
        if not arrays:
            raise CorruptMetadata(
                f"{path} has no arrays",
                "an .npz file is a zip archive with an entry NAME.npy for each array",
                "np.savez(path, name=array)",
            )
    except BaseException:
        archive.close()
        raise
    in_order = is_definition_order(list(arrays))
    return ForeignFile(path, arrays, None, keeps_order=in_order, close=archive.close)


def _array(archive: ZipArchive, entry: str) -> ForeignArray:
    name = entry.removesuffix(".npy")
    try:
        with archive.open(entry) as file:
            shape, is_fortran, dtype = _header(file)
            begin = file.tell()
    except (ValueError, SyntaxError, RecursionError, MemoryError, OverflowError, TypeError) as error:
        raise CorruptMetadata(f"the header of {name!r:.100} in {archive.path} is damaged", str(error), AGAIN) from None
    if dtype.hasobject:
        raise UnsafeCheckpoint(
            f"{name!r:.100} in {archive.path} is an array of Python objects",
            "to read such objects could run code of the file",
            "np.savez(path, name=np.asarray(values, dtype=np.float32)): an entry for each array of numbers",
        )
    count = 1
    for n in shape:
        count *= n
    if any(n < 0 for n in shape) or begin + count * dtype.itemsize != archive.size(entry):
        raise CorruptMetadata(
            f"{name!r:.100} in {archive.path} has {archive.size(entry):,} bytes",
            f"{dtype} of shape {shape} needs another number of bytes: the file is damaged",
            AGAIN,
        )

    def read() -> HostArray:
        data = archive.read(entry, archive.size(entry))
        flat = np.frombuffer(data, dtype, offset=begin)
        return flat.reshape(shape, order="F" if is_fortran else "C").astype(dtype.newbyteorder("="), copy=False)

    return ForeignArray(name, shape, dtype_name(dtype.newbyteorder("=")), read)


def _header(file: IO[bytes]) -> tuple[Shape, bool, np.dtype[Any]]:
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        found = np.lib.format.read_array_header_1_0(file)
    elif version == (2, 0):
        found = np.lib.format.read_array_header_2_0(file)
    else:
        raise ValueError(f"version {version} of the format")
    shape, is_fortran, dtype = found
    return tuple(int(n) for n in shape), bool(is_fortran), dtype
