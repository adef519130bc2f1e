"""Errors of log files, translated."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

from graftax.core.errors import GraftaxError, LogError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def translated_errors(writer: str, path: str | os.PathLike[str]) -> Iterator[None]:
    """Translate system errors of the block into a LogError that names the writer and the file.

    Raises:
        LogError: the system refused an operation.
    """
    try:
        yield
    except GraftaxError:
        raise
    except OSError as error:
        full = error.errno in _FULL
        raise LogError(
            f"{writer} could not write {os.fspath(path)}",
            f"{'no space is left' if full else error.strerror or error}; Variables are as the last step left them",
            "make room, or a path on another device; fit goes on from here with initial_epoch="
            if full
            else "a path that can be written",
        ) from error
