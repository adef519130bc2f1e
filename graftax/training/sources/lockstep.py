"""Lockstep: processes that read batches of their own know that all have another one, before any computes with it.

A step over the devices of all processes waits for each of them. Where one has no further batch, a shorter one, or a
loader that fails, the others would wait for ever, or until it has ended, for a reason that nobody tells.
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
"""How many batches are read before the others are asked, at most; a slow loader begins with one."""

_INSTEAD = (
    "as many batches, of the same shapes, in every process: a sampler that fills up or drops the last rows, or "
    "steps_per_epoch=, a number that all have"
)


def in_lockstep(
    batches: Iterator[Batch], processes: Processes, epoch: int, start: int, are_local: bool, ahead: bool
) -> Iterator[Batch]:
    """Yield the batches of an epoch, each once all processes have one of that kind.

    Args:
        batches: Those of this process.
        processes: All.
        epoch: Its number, for messages.
        start: The number of the first batch.
        are_local: Whether the rows of each process are its own; else all yield the same ones.
        ahead: Whether batches may be read some time before they are used.

    Raises:
        ProcessError: in all processes: they differ in the number of batches or their shapes, in values where these are
            to be the same, or the loader of one has failed; names the process.
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
                mark = "missing" if there is None else f"{fingerprint.followed(0, there):x}"
                things.append((f"the values of {which}", mark))
        meeting.agree(things, _INSTEAD if are_local else "the same batches in the same order in every process")
        meeting.forget()
        yield from held
        if len(held) < count:
            return
        start += count
        count = min(2 * count, _MOST) if ahead else 1


def _kinds(batch: Batch) -> dict[str, str]:
    """Return what each part of a batch is, by path."""
    found = {path: leaf for path, leaf in tree.flatten_with_paths(batch) if leaf is not None}
    return {path: f"{np.asarray(leaf).dtype}{list(np.shape(leaf))}" for path, leaf in found.items()}
