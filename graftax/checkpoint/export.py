"""Exporting the arrays of a checkpoint into one file for other tools: ``.npz`` or ``.safetensors``."""

import os
import zipfile
from contextlib import suppress
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

from graftax.backend.host import host_dtype
from graftax.checkpoint.arrays import HostArray, to_bytes
from graftax.checkpoint.dtypes import DTYPES
from graftax.checkpoint.files import FileSystem, storage_error, write_all
from graftax.checkpoint.header_facts import DTYPES_KEY, HEAD_KEY, KEY, Head, dtypes_to_text, expressions_error, facts_of
from graftax.checkpoint.layout import Item, header
from graftax.checkpoint.loading import load
from graftax.checkpoint.places import place_of
from graftax.checkpoint.reader import Reader
from graftax.checkpoint.remote_storage import RemoteStorage
from graftax.checkpoint.subset import RANDOM_SPOT, Subset, saved_spots
from graftax.core.errors import ArgumentError, DestinationExists

SUFFIXES = (".npz", ".safetensors")


class ExportReport(NamedTuple):
    """What was written, what was left out because it is not an array, and the dtypes that NumPy alone cannot read."""

    path: str
    arrays: int
    left_out: tuple[str, ...]
    not_of_numpy: tuple[str, ...]


def export(checkpoint: str | os.PathLike[str], path: str, subset: Subset) -> ExportReport:
    """Write the selected arrays to a file, named by their paths. The file appears as a whole or not at all.

    Raises:
        DestinationExists: something exists at the path already.
        ArgumentError: the file format does not support a dtype, or has no place for what expressions are.
        SelectorError: a selector matches nothing.
    """
    place, where = place_of(path)
    if place.is_there(where):
        raise DestinationExists(f"{path} exists", "nothing is replaced", "another name, or remove it first")
    with Reader(checkpoint) as reader:
        reader.check_files()
        index = reader.index
        spots = saved_spots(index)
        random = index.random if RANDOM_SPOT in subset else None  # before the check: it may be all that is skipped
        subset.check(spots.values())
        chosen = {node: spot.path for node, spot in spots.items() if spot in subset}
        tensors = {path: tensor for node, path in chosen.items() if (tensor := index.nodes[node].tensor) is not None}
        facts = facts_of(index, [node for node, path in chosen.items() if path in tensors])
        refused = expressions_error(facts, tensors, path) if path.endswith(".npz") else None
        if refused is not None:
            raise refused
        said = {KEY: facts.to_text(), HEAD_KEY: Head(index.step, index.meta, random).to_text()}
        loaded = load(reader, tensors.values())
    arrays = {path: loaded[tensor] for path, tensor in tensors.items()}
    said[DTYPES_KEY] = dtypes_to_text({path: (array.dtype.name, array.shape) for path, array in arrays.items()})
    if isinstance(place, RemoteStorage):
        with TemporaryDirectory() as folder:
            local = os.path.join(folder, os.path.basename(where))
            _write(local, arrays, reader.index.save_id, said)
            place.put_file(local, where)
    else:
        _write(where, arrays, reader.index.save_id, said)
    left_out = tuple(name for name in chosen.values() if name not in tensors)
    strange = {array.dtype.name for array in arrays.values() if array.dtype.isbuiltin != 1}
    return ExportReport(
        path, len(arrays), left_out, tuple(sorted(name for name in strange if DTYPES[name].layout == "plain"))
    )


def _write(path: str, arrays: dict[str, HostArray], save_id: bytes, said: dict[str, str]) -> None:
    fs = FileSystem()
    folder, name = os.path.split(os.path.abspath(path))
    staging = os.path.join(folder, f".{name}.tmp-{os.urandom(8).hex()}")
    try:
        descriptor = fs.create(staging)
        try:
            if path.endswith(".npz"):
                _write_npz(fs, descriptor, arrays)
            else:
                _write_safetensors(fs, descriptor, arrays, save_id, said)
            fs.fsync(descriptor)
            fs.rename(staging, path)
        except BaseException:
            with suppress(OSError):
                fs.unlink(staging)
            raise
        finally:
            fs.close(descriptor)
        fs.fsync_dir(folder)
    except OSError as error:
        raise storage_error(error, f"writing {path}") from error


def _write_npz(fs: FileSystem, descriptor: int, arrays: dict[str, HostArray]) -> None:
    strange = [f"{name} ({a.dtype.name})" for name, a in arrays.items() if a.dtype.isbuiltin != 1]
    if strange:
        raise ArgumentError(
            f"{', '.join(strange[:5])} into an .npz", "NumPy's files do not hold these dtypes", "a .safetensors file"
        )
    with os.fdopen(descriptor, "wb", closefd=False) as file, zipfile.ZipFile(file, "w", allowZip64=True) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, array, allow_pickle=False)


def _write_safetensors(
    fs: FileSystem, descriptor: int, arrays: dict[str, HostArray], save_id: bytes, said: dict[str, str]
) -> None:
    items = [Item(array.dtype.name, array.shape, name, to_bytes(array, name)) for name, array in arrays.items()]
    items.sort(key=lambda item: (item.nbytes % 64 != 0, -host_dtype(item.dtype).itemsize))
    head = header(items, save_id, said)
    write_all(fs, descriptor, [memoryview(head), *(item.data for item in items)], 0)
