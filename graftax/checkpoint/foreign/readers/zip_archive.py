"""Untrusted zip archives: entries are read as a whole, up to a limit of bytes."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from graftax.checkpoint.foreign.readers.regular_file import RegularFile
from graftax.core.errors import CorruptMetadata, LimitExceeded, TruncatedFile


class ZipArchive:
    """An archive that is open for reading.

    Args:
        path: The file.

    Raises:
        NotACheckpoint: there is no file.
        CorruptMetadata: it is not an archive, or has two entries of one name.
    """

    def __init__(self, path: str) -> None:
        self.path = RegularFile(path).path
        try:
            self._zip = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError, RuntimeError) as error:
            raise CorruptMetadata(f"{path} is no whole zip archive", str(error)) from None
        listed = self._zip.namelist()
        self.names = dict.fromkeys(listed)
        if len(self.names) < len(listed):
            self.close()
            raise CorruptMetadata(f"{path} has two entries of one name", "one of them could not be told")

    def size(self, name: str) -> int:
        """Return the number of bytes that an entry declares."""
        return self._zip.getinfo(name).file_size

    def read(self, name: str, limit: int) -> bytes:
        """Return the bytes of an entry, after checking its checksum.

        Raises:
            LimitExceeded: the entry has more than ``limit`` bytes.
            TruncatedFile: the bytes do not match the size or the checksum.
        """
        if self.size(name) > limit:
            raise LimitExceeded(
                f"{name!r:.100} in {self.path} of {self.size(name):,} bytes", f"at most {limit:,} are read"
            )
        with self.open(name) as entry:
            data = entry.read(limit + 1)
        if len(data) != self.size(name):
            raise TruncatedFile(f"{name!r:.100} in {self.path}", "its size is not the one that the archive says")
        return data

    @contextmanager
    def open(self, name: str) -> Iterator[IO[bytes]]:
        """Open an entry, to read its beginning."""
        try:
            with self._zip.open(name) as entry:
                yield entry
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, UnicodeError) as error:
            raise TruncatedFile(f"{name!r:.100} in {self.path}", f"it is damaged: {error}") from None

    def close(self) -> None:
        """Close the file."""
        self._zip.close()
