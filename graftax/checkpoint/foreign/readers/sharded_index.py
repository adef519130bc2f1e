"""``model.safetensors.index.json``: which array is in which of the files beside it (Hugging Face)."""

from __future__ import annotations

import json
import os
from typing import Any

from graftax.checkpoint.foreign.foreign_array import ForeignArray, ForeignFile
from graftax.checkpoint.foreign.readers.regular_file import RegularFile
from graftax.checkpoint.foreign.readers.safetensors_file import read_safetensors
from graftax.checkpoint.foreign.readers.torch_zip import read_torch
from graftax.checkpoint.foreign.readers.wrong_content import unreadable_error
from graftax.core.errors import CheckpointError, CorruptMetadata, LimitExceeded, MissingInCheckpoint, PathViolation

SUFFIX = ".index.json"
_LIMIT = 64 << 20


def read_sharded(path: str) -> ForeignFile:
    """Return the arrays of all files that an index names.

    Args:
        path: The index.

    Raises:
        PathViolation: it names a file that does not lie beside it.
        MissingInCheckpoint: a file lacks an array that the index promises.
        CorruptCheckpoint, UnsafeCheckpoint: the index, or one of the files, is damaged or must not be read.
    """
    weight_map = _weight_map(RegularFile(path))
    folder = os.path.dirname(path)
    files: dict[str, ForeignFile] = {}
    arrays: dict[str, ForeignArray] = {}
    for name, shard in weight_map.items():
        if shard not in files:
            files[shard] = _shard(path, folder, shard)
        if name not in files[shard].arrays:
            raise MissingInCheckpoint(
                f"{path} says that {name!r} is in {shard}",
                f"{shard} does not have it: the files are of different versions, or not all were downloaded",
                "download the index and all files that it names again, into one folder",
            )
        arrays[name] = files[shard].arrays[name]
    sources = {file.source for file in files.values()}
    source = sources.pop() if len(sources) == 1 else None

    def close() -> None:
        for file in files.values():
            file.close()

    return ForeignFile(path, arrays, source, keeps_order=False, close=close)


def _shard(path: str, folder: str, name: str) -> ForeignFile:
    if name != os.path.basename(name) or name in ("", ".", "..") or "\0" in name or "\\" in name:
        raise PathViolation(
            f"{path} names the file {name!r:.100}",
            "an index may only name files in its own folder; another path could read files of yours",
            "do not use this index, unless you know who wrote it; then write names without folders into it",
        )
    where = os.path.join(folder, name)
    try:
        return read_safetensors(where) if name.endswith(".safetensors") else read_torch(where)
    except CheckpointError as error:
        error.add_context(f"one of the files that the index {path} names")
        raise


def _weight_map(file: RegularFile) -> dict[str, str]:
    if file.size > _LIMIT:
        raise LimitExceeded(
            f"{file.path} has {file.size:,} bytes",
            f"of an index, at most {_LIMIT:,} bytes are read",
            "give the path of the weights, if this is not an index",
        )
    try:
        found: Any = json.loads(file.bytes(0, file.size).tobytes().decode())
    except (ValueError, RecursionError) as error:
        raise unreadable_error(file.path, "an index in JSON", f"it is not JSON: {error}") from None
    weight_map = found.get("weight_map") if type(found) is dict else None
    if type(weight_map) is not dict or not all(type(shard) is str for shard in weight_map.values()):
        raise CorruptMetadata(
            f"{file.path} has no weight_map",
            'an index is {"weight_map": {"name of an array": "file.safetensors", ...}}',
            "give the path of the index or of the weights; config.json and tokenizer files are neither",
        )
    return weight_map
