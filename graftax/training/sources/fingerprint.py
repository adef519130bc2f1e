"""Fingerprints, which tell whether batches that are read again are the same as before."""

from __future__ import annotations

import numpy as np
import xxhash

from graftax.core import tree
from graftax.core.errors import DataError
from graftax.training.batch import Batch

_LOOKED_AT = 16384
"""The number of values of an array that are used; more would cost time in each step."""


def extend(before: int, batch: Batch) -> int:
    """Return the fingerprint of a sequence of batches, extended by one more.

    Args:
        before: The fingerprint of the sequence; 0 for an empty one.
        batch: Arrays on the host, of which shapes, dtypes and the first 16384 values are used.

    Example:
        >>> import numpy as np
        >>> one, other = (np.zeros(2),), (np.ones(2),)
        >>> extend(extend(0, one), other) == extend(extend(0, other), one)
        False
    """
    digest = xxhash.xxh3_64(before.to_bytes(8, "little"))
    for path, leaf in tree.flatten_with_paths(batch):
        if leaf is not None:
            array = np.asarray(leaf)
            digest.update(f"{path} {array.dtype} {array.shape}".encode())
            digest.update(array.flat[:_LOOKED_AT].tobytes())
    return digest.intdigest()


def extend_shapes(before: int, batch: Batch, processes: int) -> int:
    """Return the fingerprint of a sequence of batches of which each process has a part, extended by one more.

    The values are others in each process, so the sizes are used: those of all parts together, which stay the same in a
    run that goes on with another number of processes.

    Args:
        before: The fingerprint of the sequence; 0 for an empty one.
        batch: The part of this process; those of the others have the same shapes.
        processes: How many processes there are.

    Example:
        >>> extend_shapes(0, (np.ones((4, 2)),), 2) == extend_shapes(0, (np.zeros((8, 2)),), 1)
        True
    """
    digest = xxhash.xxh3_64(before.to_bytes(8, "little"))
    for path, leaf in tree.flatten_with_paths(batch):
        if leaf is not None:
            rows, *others = np.shape(leaf)
            digest.update(f"{path} {np.asarray(leaf).dtype} {[rows * processes, *others]}".encode())
    return digest.intdigest()


def require_same(fingerprint: int, saved: int, count: int, kind: str) -> None:
    """Raise if batches that a resumed run skips are not those that it was trained on.

    Args:
        fingerprint: The fingerprint of the skipped batches.
        saved: The fingerprint in the checkpoint.
        count: The number of skipped batches.
        kind: The kind of the loader, for the message.

    Raises:
        DataError: they differ.
    """
    if fingerprint != saved:
        raise DataError(
            f"a run is resumed after {count} batches of a {kind}, which are others than those that it was trained on",
            "its order, its values or the sizes of its batches are not those of that run: rows would be left out or "
            "come twice",
            f"batches of the sizes that they had, until the epoch ends; {_INSTEAD}",
        )


def changing_error(kind: str) -> DataError:
    """Return the error for a loader that changes from pass to pass, and cannot go on where a run ended.

    Args:
        kind: The kind of the loader.
    """
    return DataError(
        f"a run is resumed with a {kind}, which yields other batches in each pass",
        "it does not say how many passes there were, and would begin with those that were trained on before",
        _INSTEAD,
    )


_INSTEAD = (
    "an order that follows from a seed of its own (np.random.default_rng(3).permutation(n), made anew for each "
    "pass); in the loader get_state() and set_state(state), which are called between passes and say how the next one "
    "begins, or state_dict() and load_state_dict(state) for places within a pass; arrays, fit(x, y, shuffle=True); or "
    "restore model and optimizer alone, and begin another run: "
    "graftax.Checkpoint(model=model, optimizer=model.optimizer).restore(path)"
)
