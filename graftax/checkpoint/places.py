"""The storage of a path: a file system of fsspec for URLs with ``scheme://``, the local disk for all others."""

import os
import re

from graftax.checkpoint.local_storage import LocalStorage
from graftax.checkpoint.remote_storage import remote_storage
from graftax.checkpoint.storage import Storage
from graftax.core.errors import ArgumentError, ArgumentTypeError

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/{1,2}[^/]|[A-Za-z][A-Za-z0-9+.-]+://")
LOCAL = LocalStorage()


def place_of(path: str | os.PathLike[str]) -> tuple[Storage, str]:
    """Return the storage that a path belongs to, and the absolute path.

    Raises:
        ArgumentTypeError: it is not a path.
        ArgumentError: it is empty, holds a NUL character, or is a URL of a kind that is not known here.
    """
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else path
    if not isinstance(text, str):
        raise ArgumentTypeError(
            f"the path {text!r:.100} of type {type(text).__name__}",
            "a checkpoint is a directory, named by text or a path",
            "os.fsdecode(path)" if isinstance(text, bytes) else '"runs/step-100"',
        )
    if not text or "\0" in text:
        raise ArgumentError(f"the path {text!r:.100}", "no directory has such a name", '"runs/step-100"')
    if _SCHEME.match(text):
        scheme = text.partition(":")[0]
        if f"{scheme}://" not in text:  # pathlib turns s3://bucket into s3:/bucket
            if os.path.isdir(f"{scheme}:"):
                return LOCAL, LOCAL.absolute(text)
            raise ArgumentError(
                f"the path {text!r:.100}",
                "it looks like a URL that lost a slash, as pathlib.Path makes it",
                f'give the URL as text: "{scheme}://{text[len(scheme) + 1 :].lstrip("/")}"',
            )
        storage: Storage = remote_storage(text)
        return storage, storage.absolute(text)
    return LOCAL, LOCAL.absolute(text)
