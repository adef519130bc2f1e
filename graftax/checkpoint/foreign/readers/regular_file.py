"""Opening a regular file of known size, to read ranges of it."""

from __future__ import annotations

import os
import stat

import numpy as np

from graftax.checkpoint.arrays import HostArray
from graftax.core.errors import NotACheckpoint, TruncatedFile


class RegularFile:
    """A file that is read in ranges. Links are followed, since download caches consist of links.

    Args:
        path: The path of the file.

    Raises:
        NotACheckpoint: there is nothing at the path, or not a regular file.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            status = os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            raise NotACheckpoint(f"nothing at {path}", "there is no such file", "check the path") from None
        except ValueError as error:  # ValueError: a NUL character in the name
            raise NotACheckpoint(f"nothing at {path!r}", str(error), "check the path") from None
        if not stat.S_ISREG(status.st_mode):
            raise NotACheckpoint(f"{path} is no regular file", "a file of weights is read from its bytes")
        self.size = status.st_size

    def bytes(self, offset: int, count: int) -> HostArray:
        """Return a range of its bytes.

        Raises:
            TruncatedFile: it ends earlier.
        """
        if offset + count > self.size:
            raise TruncatedFile(
                f"{self.path} ends at byte {self.size:,}, {offset + count - self.size:,} bytes too early", "it was cut"
            )
        data = np.fromfile(self.path, np.uint8, count, offset=offset)
        if len(data) < count:
            raise TruncatedFile(f"{self.path} became shorter while it was read", "somebody is writing to it")
        return data
