"""Errors for files with other content than their name says: cut, empty, another format, or a failed download."""

from __future__ import annotations

from graftax.core.errors import CheckpointError, CorruptMetadata, NotACheckpoint, TruncatedFile

AGAIN = "copy or download the file again, and compare its size or checksum with the original"
"""The advice for a damaged file."""

_OTHERS = (
    (b"version https://git-lfs", "a pointer of Git LFS, a short text in place of the file", "git lfs pull"),
    (
        b"<",
        "a web page or XML, as a failed download leaves it",
        "download the file itself, from its own address, not from that of the page that shows it",
    ),
    (b"\x89HDF", "an HDF5 file", 'os.rename(path, "model.weights.h5"), and load that'),
    (
        b"PK\x03\x04",
        "a zip archive, as torch (.pt), Keras (.keras) and NumPy (.npz) write it",
        "give the file the ending that it had when it was saved",
    ),
    (
        b"\x93NUMPY",
        "one array, as np.save writes it",
        'np.savez("weights.npz", **{"fc.weight": weight, "fc.bias": bias}), with a name for each array',
    ),
    (
        b"\x80",
        "a pickle of Python objects, which could run code when it is read",
        "save the arrays alone with the library that wrote it: torch.save(model.state_dict(), new_path), or np.savez",
    ),
)
"""What files begin with, what they are then, and what to write instead."""


def unreadable_error(
    path: str, expected: str, reason: str, otherwise: type[CheckpointError] = CorruptMetadata
) -> CheckpointError:
    """Return the error for a file that cannot be read as what its name says.

    Args:
        path: The file.
        expected: What its name says, with an article: ``"a zip archive"``.
        reason: Why it cannot be read, if nothing else is recognized in it.
        otherwise: The class of the error then. Defaults to CorruptMetadata.

    Example:
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "model.pt")
        >>> with open(path, "wb") as file:
        ...     _ = file.write(b"<!DOCTYPE html>")
        >>> unreadable_error(path, "a zip archive", "").reason
        'it is a web page or XML, as a failed download leaves it'
    """
    with open(path, "rb") as file:
        start = file.read(32)
    if not start:
        return TruncatedFile(f"{path} is empty", f"{expected} was expected", AGAIN)
    for mark, found, instead in _OTHERS:
        if start.startswith(mark):
            return NotACheckpoint(f"{path} is not {expected}", f"it is {found}", instead)
    return otherwise(f"{path} is not {expected}, or not all of it", reason, AGAIN)


def is_something_else(path: str) -> bool:
    """Return True for an empty file, and for one that begins like a known file of another kind."""
    with open(path, "rb") as file:
        start = file.read(32)
    return not start or any(start.startswith(mark) for mark, _, _ in _OTHERS)
