"""The shares of several processes in a common save: every box is written once, and each process writes about as much.

The plan depends only on the arrays, so all processes compute the same one, without communication.
"""

from collections.abc import Callable, Sequence
from math import prod

from graftax.backend.processes import Held, Processes
from graftax.checkpoint.arrays import to_bytes
from graftax.checkpoint.checksums import digest
from graftax.checkpoint.dtypes import DTYPES
from graftax.checkpoint.layout import Item
from graftax.checkpoint.snapshot import Taken
from graftax.core.typedefs import Shape

CUT = 1 << 20
"""A replicated box with at least this many bytes is written by all processes that have it, one slice each."""


def boxes_of(item: Item, processes: Processes) -> Sequence[Held] | None:
    """Return the boxes of an array that is sharded over processes; None for one that each of them has as a whole."""
    return processes.boxes(item.source.array) if isinstance(item.source, Taken) else None


def value_of_whole(item: Item, boxes: Sequence[Held], processes: Processes) -> str:
    """Return what tells the value of an array that each process has the whole of, unless it is large."""
    if len(boxes) > 1 or item.nbytes > CUT or not isinstance(item.source, Taken):
        return ", assigned"
    part = processes.part(item.source.array, *boxes[0][:2])
    return f", value {digest(to_bytes(part, item.name)):016x}"


def plan_shares(items: Sequence[Item], boxes: Sequence[Sequence[Held] | None], processes: Processes) -> list[Item]:
    """Return the boxes of all items, each with the process that writes it, and with the bytes for those of this one.

    A box that several processes have is split among them along its first axis if it is large; otherwise the process
    with the smallest share so far writes it.
    """
    load = [0] * processes.count()
    everyone = tuple(range(processes.count()))
    plan: list[Item] = []
    for item, spread in zip(items, boxes, strict=True):
        for box in [Held((0,) * len(item.shape), item.shape, everyone)] if spread is None else spread:
            for process, start, extent in _dealt(item, box, load):
                part = item._replace(shape=extent, process=process)
                if extent != item.shape:
                    part = part._replace(start=start, whole=item.shape)
                load[process] += part.nbytes
                here = process == processes.index()
                plan.append(part._replace(source=_bytes_of(item, start, extent, processes) if here else _no_bytes))
    return plan


def _dealt(item: Item, box: Held, load: Sequence[int]) -> list[tuple[int, Shape, Shape]]:
    start, extent, holders = box
    size = prod(extent) * DTYPES[item.dtype].bits // 8
    count = len(holders)
    if size < CUT or count == 1 or not extent or extent[0] < count or DTYPES[item.dtype].layout == "packed":
        return [(min(holders, key=lambda process: (load[process], process)), start, extent)]
    cuts = [extent[0] * k // count for k in range(count + 1)]
    return [
        (process, (start[0] + low, *start[1:]), (high - low, *extent[1:]))
        for process, low, high in zip(holders, cuts, cuts[1:], strict=False)
    ]


def _bytes_of(item: Item, start: Shape, extent: Shape, processes: Processes) -> Callable[[], memoryview]:
    """Return a function that returns the bytes of a box when it is written."""
    source = item.source
    if isinstance(source, Taken) and processes.boxes(source.array) is not None:
        array, path = source.array, source.path
        return lambda: to_bytes(processes.part(array, start, extent), path)
    if extent == item.shape:
        return lambda: item.data
    row = item.nbytes // item.shape[0]
    return lambda: item.data[start[0] * row : (start[0] + extent[0]) * row]


def _no_bytes() -> memoryview:
    """Return no bytes, in place of those that another process writes."""
    return memoryview(b"")
