"""Opening a regular file of known size, to read ranges of it."""

from __future__ import annotations

import os
import stat
from difflib import get_close_matches

import numpy as np

from graftax.checkpoint.arrays import HostArray
from graftax.checkpoint.foreign.readers.wrong_content import AGAIN
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
            raise missing_error(path) from None
        except ValueError as error:  # ValueError: a NUL character in the name
            raise NotACheckpoint(f"the path {path!r}", f"it cannot name a file: {error}", "check the path") from None
        if not stat.S_ISREG(status.st_mode):
            raise NotACheckpoint(
                f"{path} is a directory, a device or a pipe",
                "this format is one file on a disk",
                "give the path of the file itself",
            )
        self.size = status.st_size

    def bytes(self, offset: int, count: int) -> HostArray:
        """Return a range of its bytes.

        Raises:
            TruncatedFile: it ends earlier.
        """
        if offset + count > self.size:
            raise TruncatedFile(
                f"{self.path} ends {offset + count - self.size:,} bytes too early, after {self.size:,} bytes",
                "it was cut while it was copied, downloaded or written",
                AGAIN,
            )
        data = np.fromfile(self.path, np.uint8, count, offset=offset)
        if len(data) < count:
            raise TruncatedFile(
                f"{self.path} became shorter while it was read",
                "another program writes to it",
                "load it when the other program has finished",
            )
        return data


def missing_error(path: str) -> NotACheckpoint:
    """Return the error for a path at which there is nothing, with the files that are beside it."""
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        return NotACheckpoint(f"{path} does not exist", f"there is no directory {folder} either", "check the path")
    beside = sorted(os.listdir(folder))
    near = get_close_matches(os.path.basename(path), beside, n=3, cutoff=0.7)
    if near:
        return NotACheckpoint(
            f"{path} does not exist",
            f"files with a similar name are beside it: {', '.join(near)}",
            f"{os.path.join(os.path.dirname(path), near[0])!r}, if this is meant",
        )
    return NotACheckpoint(
        f"{path} does not exist",
        f"the directory {folder} has {', '.join(beside[:5]) or 'no files'}{', ...' if len(beside) > 5 else ''}",
        "check the path; relative paths begin at os.getcwd()",
    )
