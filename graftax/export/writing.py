"""Writing an artefact to a temporary folder, which is then renamed, so that it appears as a whole or not at all."""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager

from graftax.core.errors import ArgumentError, DestinationExists


@contextmanager
def publish(path: str, overwrite: bool) -> Iterator[str]:
    """Yield a new folder, which is moved to ``path`` at the end of the block, as a zip if that ends in ``.zip``.

    Raises:
        DestinationExists: something exists at the path, and ``overwrite`` is False or it is not an artefact.
        ArgumentError: the path is not that of a file.
    """
    final = os.path.abspath(path)
    parent, name = os.path.split(final)
    if not name:
        raise ArgumentError(
            f"an artefact at {path!r}", "its last part is not the name of a file", '"net", or "net.zip"'
        )
    check_place(path, overwrite)
    os.makedirs(parent, exist_ok=True)
    staging = os.path.join(parent, f".{name}.tmp-{os.urandom(8).hex()}")
    os.mkdir(staging)
    try:
        yield staging
        check_place(path, overwrite)
        if name.endswith(".zip"):
            _zip(staging, f"{staging}.zip")
            os.replace(f"{staging}.zip", final)
        else:
            _replace(staging, final)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
        if os.path.exists(f"{staging}.zip"):
            os.unlink(f"{staging}.zip")


def check_place(path: str, overwrite: bool) -> None:
    """Raise if something at a path must not be replaced."""
    if not os.path.lexists(path):
        return
    if not overwrite:
        raise DestinationExists(f"{path} exists", "nothing is replaced unless that is asked for", "overwrite=True")
    folder = os.path.isdir(path)
    if folder != (not path.endswith(".zip")) or (folder and not os.path.isfile(os.path.join(path, "manifest.json"))):
        raise DestinationExists(
            f"{path} exists, and is no artefact", "only an artefact is replaced", "another path, or remove it first"
        )


def _replace(staging: str, final: str) -> None:
    before = f"{staging}.before"
    if os.path.isdir(final):
        os.rename(final, before)
    try:
        os.rename(staging, final)
    except BaseException:
        if os.path.isdir(before):
            os.rename(before, final)
        raise
    shutil.rmtree(before, ignore_errors=True)


def _zip(folder: str, path: str) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for root, _, names in sorted(os.walk(folder)):
            for name in sorted(names):
                file = os.path.join(root, name)
                archive.write(file, os.path.relpath(file, folder).replace(os.sep, "/"))


def size_of_files(path: str) -> int:
    """Return the bytes of a file, or of all files in a folder."""
    if os.path.isfile(path):
        return os.path.getsize(path)
    return sum(os.path.getsize(os.path.join(root, name)) for root, _, names in os.walk(path) for name in names)
