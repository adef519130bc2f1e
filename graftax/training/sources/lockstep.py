"""Lockstep: before a step, all processes agree that each of them has a batch of the same shape.

A step on the devices of all processes waits for each of them. If one process had no more batches, a shorter one, or a
failed loader, the others would wait forever, or until it has ended, without an error that says why.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from graftax.backend.processes import Processes
from graftax.backend.rendezvous import Rendezvous
from graftax.core import tree
from graftax.training.batch import Batch
from graftax.training.sources import fingerprint
from graftax.training.sources.on_device import host_of

_MOST = 16
"""The largest number of batches that are read before the processes compare them; a slow loader starts with one."""

_INSTEAD = (
    "as many batches, of the same shapes, in every process: a sampler that fills up or drops the last rows; "
    "steps_per_epoch=, a number that all have, where only the numbers of batches differ"
)


def in_lockstep(
    batches: Iterator[Batch], processes: Processes, epoch: int, start: int, are_local: bool, ahead: bool
) -> Iterator[Batch]:
    """Yield the batches of an epoch, each after all processes have one of the same kind.

    Args:
        batches: The batches of this process.
        processes: The group of all processes.
        epoch: The number of the epoch, for messages.
        start: The number of the first batch.
        are_local: Whether each process has its own rows; otherwise all yield the same batches.
        ahead: Whether several batches may be read before they are used.

    Raises:
        ProcessError: raised in all processes if they differ in the number of batches, in shapes, or in values that must
            be equal, or if a loader has failed; the message names the process.
    """
    parts: list[str] = []
    count = 1
    while True:
        meeting = Rendezvous(processes, "LocalRows" if are_local else "GlobalRows")
        held: list[Batch] = []
        try:
            for batch in batches:
                held.append(batch)
                if len(held) == count:
                    break
        except Exception as error:
            meeting.give_up(error)
            raise
        things: list[tuple[str, str]] = []
        for i in range(count):
            which = f"batch {start + i} of epoch {epoch + 1}"
            there = host_of(held[i]) if i < len(held) else None
            told = {} if there is None else _kinds(there)
            parts = parts or list(told)
            things += [
                (f"part {path} of {which}", told.get(path, "missing: there are no more")) for path in told or parts
            ]
            if not are_local:
                mark = "missing" if there is None else f"{fingerprint.extend(0, there):x}"
                things.append((f"the values of {which}", mark))
        meeting.agree(things, _INSTEAD if are_local else "the same batches in the same order in every process")
        meeting.forget()
        yield from held
        if len(held) < count:
            return
        start += count
        count = min(2 * count, _MOST) if ahead else 1


def _kinds(batch: Batch) -> dict[str, str]:
    """Return the kind of each part of a batch, by path."""
    found = {path: leaf for path, leaf in tree.flatten_with_paths(batch) if leaf is not None}
    return {path: f"{np.asarray(leaf).dtype}{list(np.shape(leaf))}" for path, leaf in found.items()}
