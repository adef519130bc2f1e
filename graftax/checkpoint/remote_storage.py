"""Checkpoints on any file system of fsspec. Object stores have no rename, so the index is written last, in place.

An object store writes an object as a whole or not at all. A checkpoint exists as soon as its index exists. An overwrite
writes data files with new names, then replaces the index, and then deletes the old data files.
"""

import json
import time
from collections.abc import Iterable
from contextlib import suppress
from importlib import import_module
from typing import Any

from graftax.checkpoint.local_storage import storage_errors
from graftax.checkpoint.local_writing import check_replaceable
from graftax.checkpoint.names import GRAPH, STAGING, is_part
from graftax.checkpoint.owner import is_alive, own_record
from graftax.checkpoint.storage import is_a_file
from graftax.core.errors import ArgumentError, DestinationExists

_OWNER = ".owner"
_PART = 16 << 20  # bytes of one write


def remote_storage(url: str) -> "RemoteStorage":
    """Return the storage of a URL such as ``s3://bucket/run``.

    Raises:
        ArgumentError: fsspec, or its package for this scheme, is not installed, or the scheme is unknown.
    """
    scheme = url.partition("://")[0]
    try:
        fsspec = import_module("fsspec")
    except ImportError:
        raise ArgumentError(
            f"a checkpoint at {url}",
            f"{scheme}:// is no place on a local disk, and fsspec, which knows other places, is not installed",
            "pip install 'graftax[fsspec]', or a path without ://",
        ) from None
    try:
        return RemoteStorage(fsspec.filesystem(scheme), scheme)
    except (ValueError, ImportError) as error:
        raise ArgumentError(
            f"a checkpoint at {url}", f"fsspec has no file system for {scheme}:// here: {error}", "a path without ://"
        ) from error


class RemoteStorage:
    """A file system of fsspec.

    Args:
        fs: The file system.
        scheme: The scheme of its URLs.
    """

    def __init__(self, fs: Any, scheme: str) -> None:
        self.fs = fs
        self.scheme = scheme

    def absolute(self, path: str) -> str:
        """Return the URL without a slash at its end."""
        return path.rstrip("/")

    def split(self, path: str) -> tuple[str, str]:
        """Return the parent folder of a path, and its name there."""
        folder, _, name = self.absolute(path).rpartition("/")
        return folder, name

    def join(self, folder: str, name: str) -> str:
        """Return the path of a name in a folder."""
        return f"{folder.rstrip('/')}/{name}"

    def names(self, folder: str) -> list[str]:
        """Return the names in a folder."""
        self.fs.invalidate_cache()
        found = (str(path).rstrip("/").rpartition("/")[2] for path in self.fs.ls(folder, detail=False))
        return sorted({name for name in found if name})

    def is_checkpoint(self, path: str) -> bool:
        """Return True if there is an index, which is not read."""
        self.fs.invalidate_cache()
        return bool(self.fs.isfile(self.join(path, GRAPH)))

    def is_there(self, path: str) -> bool:
        """Return True if anything exists at the path."""
        self.fs.invalidate_cache()
        return bool(self.fs.exists(path))

    def put_file(self, local: str, path: str) -> None:
        """Copy a local file, in one step."""
        with storage_errors(f"writing {path}"):
            self.fs.put_file(local, path)

    def is_directory(self, path: str) -> bool:
        """Return True if anything exists at the path."""
        self.fs.invalidate_cache()
        return bool(self.fs.isdir(path))

    def open(self, path: str) -> "RemoteFolder":
        """Open a directory for reading."""
        return RemoteFolder(self, self.absolute(path))

    def is_being_replaced(self, path: str) -> bool:
        """Return False, since an overwrite replaces the index in one step."""
        return False

    def begin(self, path: str, overwrite: bool, needed: int) -> "RemoteWriting":
        """Start writing a checkpoint. Object stores do not tell how much space there is."""
        with storage_errors(f"saving {path}"):
            return RemoteWriting(self, self.absolute(path), overwrite)

    def take_part(self, path: str, ticket: str) -> "RemoteShare":
        """Write a share of the checkpoint that process 0 has started."""
        return RemoteShare(self, self.absolute(path), int(ticket))

    def remove(self, path: str) -> None:
        """Delete a checkpoint: first its index, then its files."""
        with storage_errors(f"deleting {path}"):
            names = self.names(path)
            check_replaceable(path, names)
            for name in sorted(names, key=lambda name: name != GRAPH):
                self.fs.rm_file(self.join(path, name))
            _remove_directory(self.fs, path)

    def sweep(self, folder: str) -> list[str]:
        """Delete the directories that killed processes have left in a folder: those with data files but no index."""
        swept = []
        with suppress(FileNotFoundError, NotADirectoryError):
            for name in self.names(folder):
                path = self.join(folder, name)
                if self.is_directory(path) and self._is_abandoned(path):
                    for part in self.names(path):
                        self.fs.rm_file(self.join(path, part))
                    _remove_directory(self.fs, path)
                    swept.append(name)
        return swept

    def _is_abandoned(self, path: str) -> bool:
        names = self.names(path)
        if GRAPH in names or _OWNER not in names or not all(is_part(name) or name == _OWNER for name in names):
            return False
        record = self.fs.cat_file(self.join(path, _OWNER))
        with suppress(ValueError, KeyError, TypeError):
            return not is_alive(record, time.time() - json.loads(record)["time"])
        return False


def _remove_directory(fs: Any, path: str) -> None:
    with suppress(OSError, NotImplementedError):  # on file systems with real directories
        fs.rmdir(path)


class RemoteFolder:
    """A checkpoint in an object store, opened for reading.

    Raises:
        FileNotFoundError: there is nothing at the path.
        NotACheckpoint: there is a file at the path.
    """

    def __init__(self, storage: RemoteStorage, path: str) -> None:
        self.path = path
        self._storage = storage
        self._sizes: dict[str, int] = {}
        if not storage.is_directory(path):
            if storage.fs.exists(path):
                raise is_a_file(path)
            raise FileNotFoundError(path)
        self._index = self._mark()

    def names(self) -> list[str]:
        """Return the names in the directory, sorted."""
        return self._storage.names(self.path)

    def size(self, name: str) -> int:
        """Return the size of a file in bytes."""
        if name not in self._sizes:
            self._sizes[name] = int(self._storage.fs.size(self._storage.join(self.path, name)))
        return self._sizes[name]

    def allocated_bytes(self, name: str) -> int:
        """Return the size of the file, since the occupied space is not known."""
        return self.size(name)

    def read_into(self, view: memoryview, name: str, offset: int) -> int:
        """Fill ``view`` from a file, and return the number of bytes that were there."""
        path = self._storage.join(self.path, name)
        end = min(offset + len(view), self.size(name))
        if end <= offset:
            return 0
        data = self._storage.fs.cat_file(path, offset, end)
        view[: len(data)] = data
        return len(data)

    def map_file(self, name: str) -> None:
        """Return None: remote files cannot be mapped."""

    def is_current(self) -> bool:
        """Return True if the index is still the one that was opened."""
        return self._mark() == self._index

    def close(self) -> None:
        """Do nothing: no file is kept open."""

    def _mark(self) -> bytes:
        """Return the head of the index, which contains its checksum."""
        try:
            return bytes(self._storage.fs.cat_file(self._storage.join(self.path, GRAPH), 0, 32))
        except OSError:
            return b""


class RemoteShare:
    """The share that a process other than process 0 writes."""

    def __init__(self, storage: RemoteStorage, path: str, first_file: int) -> None:
        self.first_file = first_file
        self._storage = storage
        self._path = path

    def put(self, name: str, size: int, pieces: Iterable[memoryview]) -> None:
        """Write a file, which exists when the call returns."""
        _put(self._storage, self._storage.join(self._path, name), pieces)

    def finish(self) -> None:
        """Do nothing: all files exist already."""


def _put(storage: RemoteStorage, path: str, pieces: Iterable[memoryview]) -> None:
    with storage.fs.open(path, "wb") as file:
        waiting = bytearray()
        for piece in pieces:
            waiting += piece
            if len(waiting) >= _PART:
                file.write(bytes(waiting))
                waiting.clear()
        file.write(bytes(waiting))


class RemoteWriting:
    """A checkpoint that is written in place, and is invisible as long as it has no index."""

    def __init__(self, storage: RemoteStorage, path: str, overwrite: bool) -> None:
        self._storage = storage
        self._path = path
        self._put: list[str] = []
        self._is_shared = False
        name = storage.split(path)[1]
        if not name or name.endswith(":") or STAGING.fullmatch(name):
            raise ArgumentError(f"a checkpoint at {path}", "that name is reserved, or no name", "choose another name")
        self._old = storage.names(path) if storage.is_directory(path) else []
        if self._old or storage.fs.exists(path):
            if not overwrite:
                raise DestinationExists(
                    f"{path} exists", "a save replaces nothing by default", "overwrite=True, or a new path"
                )
            check_replaceable(path, self._old)
        numbers = [int(name.split(".")[0].split("-")[2]) for name in self._old if name != GRAPH]
        self.first_file = max(numbers, default=-1) + 1
        if not self._old:
            storage.fs.makedirs(path, exist_ok=True)
            self._pipe(_OWNER, own_record())

    def put(self, name: str, size: int, pieces: Iterable[memoryview]) -> None:
        """Write a file, which exists when the call returns."""
        self._put.append(name)
        _put(self._storage, self._storage.join(self._path, name), pieces)

    @property
    def ticket(self) -> str:
        """Return the lowest number that data files may have."""
        self._is_shared = True
        return str(self.first_file)

    def collect(self, name: str) -> bytes:
        """Return the content of a file that another process has written, and delete the file."""
        path = self._storage.join(self._path, name)
        content = bytes(self._storage.fs.cat_file(path))
        self._storage.fs.rm_file(path)
        return content

    def publish(self, index: bytes) -> None:
        """Write the index, in one step; then delete the files that only the old index needed."""
        needed, self._put = {GRAPH, *self._put}, [] if self._old else self._put
        path = self._storage.join(self._path, GRAPH)
        try:
            self._storage.fs.pipe_file(path, index)
        except OSError:
            # The index may have arrived despite the error: then the checkpoint is complete. If unknown, keep all.
            if self._storage.fs.cat_file(path, 0, len(index)) != index:
                self._put = [name for name in needed if name != GRAPH]
                raise
        self._put = []
        for name in [name for name in self._old if name not in needed] or [_OWNER]:
            with suppress(OSError):
                self._storage.fs.rm_file(self._storage.join(self._path, name))

    def abandon(self) -> None:
        """Delete the written files. An older checkpoint at the path stays as it was."""
        others = []
        if self._is_shared:
            with suppress(OSError):
                others = [name for name in self._storage.names(self._path) if name not in {*self._old, *self._put}]
        for name in [*others, *reversed(self._put)]:
            if name != GRAPH:
                with suppress(OSError):
                    self._storage.fs.rm_file(self._storage.join(self._path, name))
        if not self._old:
            with suppress(OSError):
                self._storage.fs.rm_file(self._storage.join(self._path, GRAPH))
            _remove_directory(self._storage.fs, self._path)

    def _pipe(self, name: str, content: bytes) -> None:
        self._put.append(name)
        self._storage.fs.pipe_file(self._storage.join(self._path, name), content)
