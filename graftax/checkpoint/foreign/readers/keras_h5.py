"""``.weights.h5`` of Keras 3, and the one inside of a ``.keras`` archive; needs h5py."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from graftax.backend.host import host_dtype
from graftax.checkpoint.arrays import HostArray, dtype_name
from graftax.checkpoint.foreign.foreign_array import ForeignArray, ForeignFile
from graftax.checkpoint.foreign.readers.optional_library import optional_library
from graftax.checkpoint.foreign.readers.regular_file import RegularFile
from graftax.checkpoint.foreign.readers.wrong_content import AGAIN, unreadable_error
from graftax.checkpoint.foreign.readers.zip_archive import ZipArchive
from graftax.core.errors import CorruptMetadata, NotACheckpoint, UnsafeCheckpoint

_INSIDE = "model.weights.h5"
_DEPTH = 64
_LIMIT = 1 << 36  # bytes; a file inside of an archive is read into memory as a whole


def read_keras(path: str) -> ForeignFile:
    """Return the arrays of an HDF5 file; each is read when it is needed.

    Args:
        path: A ``.h5`` or ``.keras`` file.

    Raises:
        NotACheckpoint: there is no file.
        UnsafeCheckpoint: it refers to other files.
        CorruptCheckpoint: it is damaged.
        ArgumentError: h5py is not installed.
    """
    h5py = optional_library("h5py", "h5py", path)
    inside = RegularFile(path).path if not path.endswith(".keras") else io.BytesIO(_read_inner_file(path))
    try:
        file = h5py.File(inside, "r")
    except (OSError, ValueError, RuntimeError, KeyError) as error:
        if isinstance(inside, str):
            raise unreadable_error(path, "an HDF5 file", f"h5py: {error}") from None
        raise CorruptMetadata(f"{_INSIDE} in {path} is damaged", f"h5py: {error}", AGAIN) from None
    arrays: dict[str, ForeignArray] = {}
    labels: dict[str, str] = {}
    try:
        _collect(h5py, path, file, "", arrays, labels, 0)
        if not arrays:
            raise NotACheckpoint(
                f"{path} has no arrays",
                "the file is readable, and there is no array in it",
                'model.save_weights("model.weights.h5") after the Keras model was built',
            )
    except BaseException:
        file.close()
        raise
    return ForeignFile(path, arrays, "keras", keeps_order=False, labels=labels, close=file.close)


def _read_inner_file(path: str) -> bytes:
    archive = ZipArchive(path)
    try:
        if _INSIDE not in archive.names:
            raise NotACheckpoint(
                f"{path} has no {_INSIDE} in it",
                "a .keras file of Keras 3 is a zip archive with this file",
                'model.save("model.keras") in Keras 3',
            )
        return archive.read(_INSIDE, _LIMIT)
    finally:
        archive.close()


def _collect(
    h5py: Any,
    path: str,
    group: Any,
    prefix: str,
    arrays: dict[str, ForeignArray],
    labels: dict[str, str],
    depth: int,
) -> None:
    if depth > _DEPTH:  # a group that contains itself would be followed forever
        raise UnsafeCheckpoint(
            f"{path} has groups in groups, deeper than {_DEPTH} levels",
            "no model has so many; a group may contain itself",
            'model.save_weights("model.weights.h5") with Keras 3',
        )
    for key in _translate_errors(path, partial(sorted, group.keys(), key=_by_number)):
        name = f"{prefix}/{key}" if prefix else key
        link = _translate_errors(path, partial(group.get, key, getlink=True))
        if not isinstance(link, h5py.HardLink):
            raise UnsafeCheckpoint(
                f"{name!r:.100} in {path} is a link to another place",
                "links are not followed, since they may lead to other files",
                "h5repack, or model.save_weights again, which writes the values into one file",
            )
        item = _translate_errors(path, partial(group.__getitem__, key))
        if isinstance(item, h5py.Group):
            if key == "vars" and isinstance(label := _translate_errors(path, partial(item.attrs.get, "name")), str):
                labels[prefix] = label
            _collect(h5py, path, item, name, arrays, labels, depth + 1)
        elif isinstance(item, h5py.Dataset):
            arrays[name] = _array(path, name, item)


def _array(path: str, name: str, item: Any) -> ForeignArray:
    is_elsewhere = _translate_errors(path, lambda: item.external or item.is_virtual)
    if is_elsewhere:
        raise UnsafeCheckpoint(
            f"{name!r:.100} in {path} has its values in other files",
            "only the file that was given is read",
            "model.save_weights again, which writes the values into one file",
        )
    shape, dtype = _translate_errors(path, lambda: (item.shape, item.dtype))
    if shape is None or dtype.kind not in "biufcV":
        raise CorruptMetadata(
            f"{name!r:.100} in {path} has dtype {dtype}",
            "weights are arrays of numbers",
            "model.save_weights with Keras 3, without other content in the file",
        )

    marked = dtype.kind == "V" and _translate_errors(path, partial(item.attrs.get, "dtype")) == "bfloat16"
    if dtype.kind == "V" and not (marked and dtype.itemsize == 2):
        raise CorruptMetadata(
            f"{name!r:.100} in {path} has {dtype.itemsize} bytes an element, and no dtype",
            "Keras notes bfloat16 beside such arrays, and writes no others",
            "model.save_weights with Keras 3",
        )

    def read() -> HostArray:
        found: HostArray = _translate_errors(path, lambda: np.asarray(item[()]))
        return found.view(host_dtype("bfloat16")) if marked else found

    return ForeignArray(name, tuple(shape), "bfloat16" if marked else dtype_name(dtype), read)


def _translate_errors(path: str, act: Callable[[], Any]) -> Any:
    """Return the result of a call of h5py, with its many kinds of errors for damaged files translated."""
    try:
        return act()
    except (OSError, ValueError, RuntimeError, KeyError, TypeError, AttributeError) as error:
        raise CorruptMetadata(f"{path} is damaged", f"h5py: {type(error).__name__}: {error}", AGAIN) from None


def _by_number(key: str) -> tuple[bool, int, str]:
    return (False, int(key), "") if key.isdecimal() and len(key) < 10 else (True, 0, key)
