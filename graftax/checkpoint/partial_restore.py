"""A restore of a small part of a large program: only this part of program and checkpoint is examined.

The result is the same: if anything does not match, the restore is repeated as a whole, with the same messages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from graftax.backend.rendezvous import process_group
from graftax.checkpoint.children import adopt_pending, hanging_on_lone
from graftax.checkpoint.graph import Graph, Root
from graftax.checkpoint.index import Index
from graftax.checkpoint.lazy_records import LazyRecords
from graftax.checkpoint.matching import Match
from graftax.checkpoint.outline import Narrow, Outline
from graftax.checkpoint.subset import Subset
from graftax.core.errors import GraftaxError

_FEWEST = 512  # nodes; smaller indexes are decoded as a whole, in a few milliseconds
_PART = 4  # an index with this many times the nodes of the program is decoded lazily


class NeedsFullRestore(Exception):
    """Raised if the restore has to be done as a whole."""


def find_affected_part(roots: Mapping[str, Root], subset: Subset, renames: Mapping[str, str]) -> Narrow | None:
    """Return the part of a program that a restore affects; None for all, or if values may come from anywhere."""
    heads = subset.heads
    if heads is None or renames or process_group() is not None or hanging_on_lone(roots):
        return None
    outline = Outline(roots)
    if not outline.is_settled:
        for thing in roots.values():
            adopt_pending(thing, set())
        outline = Outline(roots)
    return outline.narrow(heads)


def is_small_part(graph: Graph, index: Index, renames: Mapping[str, str]) -> bool:
    """Return True if the restore needs few records of the index."""
    if len(index.nodes) < _FEWEST or len(index.nodes) <= _PART * len(graph.places) or process_group() is not None:
        return False
    return not renames or not (index.slots or any("*" in str(path) for path in renames.values()))


@contextmanager
def planned_in_part(graph: Graph, is_lazy: bool) -> Iterator[Callable[[Match], None]]:
    """Plan a partial restore: the function that the block gets checks the `Match` when there is one.

    Raises:
        NeedsFullRestore: something does not match, or slots may be selected, which depend on Variables elsewhere.
    """
    if graph.narrow is None and not is_lazy:
        yield lambda match: None
        return
    try:
        yield _check_slots
    except GraftaxError as error:
        raise NeedsFullRestore from error


def _check_slots(match: Match) -> None:
    if match.index.slots and not match.objects.keys().isdisjoint(_optimizers(match.index)):
        raise NeedsFullRestore
    match.slots = ()


def _optimizers(index: Index) -> set[int]:
    """Return the nodes of the optimizers that have slots, without decoding other records."""
    if not isinstance(index.slots, LazyRecords):
        return {slot.optimizer for slot in index.slots}
    return {raw[0] for raw in index.slots.iterate_raw() if type(raw) is list and raw and type(raw[0]) is int}
