"""Untrusted zip archives: entries are read as a whole, up to a limit of bytes."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from graftax.checkpoint.foreign.readers.regular_file import RegularFile
from graftax.checkpoint.foreign.readers.wrong_content import AGAIN, unreadable_error
from graftax.core.errors import CheckpointError, CorruptMetadata, LimitExceeded, TruncatedFile


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
            raise _unreadable_error(path, error) from None
        listed = self._zip.namelist()
        self.names = dict.fromkeys(listed)
        if len(self.names) < len(listed):
            self.close()
            raise CorruptMetadata(
                f"{path}, a zip archive, has two entries with the same name",
                "nothing says which of them is meant",
                "save the file again with the library that wrote it",
            )

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
                f"the entry {name!r:.100} of {self.path} has {self.size(name):,} bytes",
                f"at most {limit:,} bytes are read, so that a forged file cannot fill the memory",
                "save the weights in several files, or as .safetensors",
            )
        with self.open(name) as entry:
            data = entry.read(limit + 1)
        if len(data) != self.size(name):
            raise TruncatedFile(
                f"the entry {name!r:.100} of {self.path} has another size than the archive says",
                "the file is damaged",
                AGAIN,
            )
        return data

    @contextmanager
    def open(self, name: str) -> Iterator[IO[bytes]]:
        """Open an entry, to read its beginning."""
        try:
            with self._zip.open(name) as entry:
                yield entry
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, UnicodeError) as error:
            raise TruncatedFile(f"the entry {name!r:.100} of {self.path} is damaged", str(error), AGAIN) from None

    def close(self) -> None:
        """Close the file."""
        self._zip.close()


def _unreadable_error(path: str, error: Exception) -> CheckpointError:
    with open(path, "rb") as file:
        is_archive = file.read(4) == b"PK\x03\x04"
    if is_archive:
        return CorruptMetadata(
            f"{path} is a zip archive whose end is missing or damaged",
            f"the list of its entries, which is at its end, cannot be read ({error}): it was cut, most probably",
            AGAIN,
        )
    return unreadable_error(path, "a zip archive", str(error))
