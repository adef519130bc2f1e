"""Checks of several processes, as far as one that is alone can tell; and of arrays that each process has a part of."""

from __future__ import annotations

import numpy as np

from graftax.backend.processes import Joining
from graftax.backend.testing.check import Kit, rows

X = np.arange(24.0, dtype="float32").reshape(8, 3)


def _check_alone(kit: Kit) -> None:
    processes = kit.backend.processes
    assert not processes.join(Joining()), "where nobody has started others, a process stays alone"
    assert (processes.index(), processes.count()) == (0, 1), "one that is alone is process 0 of 1"
    assert processes.started() is None, "nobody has started this one among others"
    assert processes.timeout > 0, "there is a time after which nobody is waited for"
    assert processes.preempted(1) is False, "nobody has asked one that is alone to end"


def _check_parts(kit: Kit) -> None:
    processes, x = kit.backend.processes, kit.array(X)
    assert not processes.is_spread(x), "an array on one device is not spread"
    assert processes.boxes(x) is None, "an array that is all here has no boxes elsewhere"
    kit.close(processes.part(x, (2, 1), (3, 2)), X[2:5, 1:3], "part")
    asked: list[tuple[tuple[int, ...], tuple[int, ...]]] = []

    def read(start: tuple[int, ...], extent: tuple[int, ...]) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        asked.append((start, extent))
        return X[tuple([slice(s, s + e) for s, e in zip(start, extent, strict=True)])] + 1

    kit.close(processes.fill(x, read), X + 1, "filled")
    assert asked == [((0, 0), (8, 3))], "each box is read once"


CHECKS = rows("processes", alone=_check_alone, parts=_check_parts)
