"""A restore of a small part of much: only what it is about is looked at, in the program and in the checkpoint.

Nothing else differs: where something does not fit, the whole is looked at after all, so that the same is told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from graftax.backend.rendezvous import several
from graftax.checkpoint.children import settle
from graftax.checkpoint.graph import Graph, Root
from graftax.checkpoint.index import Index
from graftax.checkpoint.lazy_records import LazyRecords
from graftax.checkpoint.matching import Match
from graftax.checkpoint.outline import Narrow, Outline
from graftax.checkpoint.subset import Subset
from graftax.core.errors import GraftaxError

_FEWEST = 512  # nodes of an index that is not decoded as a whole: that takes some milliseconds
_PART = 4  # how many times as many it has as the program


class NotThatEasy(Exception):
    """The whole is to be looked at."""


def narrowed(roots: Mapping[str, Root], subset: Subset, renames: Mapping[str, str]) -> Narrow | None:
    """The part of a program that a restore is about; None if that is all, or if values may come from anywhere."""
    heads = subset.heads
    if heads is None or renames or several() is not None:
        return None
    outline = Outline(roots)
    if not outline.is_settled:
        for thing in roots.values():
            settle(thing, set())
        outline = Outline(roots)
    return outline.narrowed(heads)


def is_small_part(graph: Graph, index: Index, renames: Mapping[str, str]) -> bool:
    """True if few records of an index will be needed."""
    if len(index.nodes) < _FEWEST or len(index.nodes) <= _PART * len(graph.places) or several() is not None:
        return False
    return not renames or not (index.slots or any("*" in str(path) for path in renames.values()))


@contextmanager
def of_part(graph: Graph, is_lazy: bool) -> Iterator[Callable[[Match], None]]:
    """Plan a restore of a part; what is given looks at the `Match` as soon as there is one.

    Raises:
        NotThatEasy: something does not fit, or slots may be meant, which hang together with Variables elsewhere.
    """
    if graph.narrow is None and not is_lazy:
        yield lambda match: None
        return
    try:
        yield _check_slots
    except GraftaxError as error:
        raise NotThatEasy from error


def _check_slots(match: Match) -> None:
    if match.index.slots and not match.objects.keys().isdisjoint(_optimizers(match.index)):
        raise NotThatEasy
    match.slots = ()


def _optimizers(index: Index) -> set[int]:
    """The nodes of the optimizers that have slots; where slots are decoded lazily, nothing else is looked at."""
    if not isinstance(index.slots, LazyRecords):
        return {slot.optimizer for slot in index.slots}
    return {raw[0] for raw in index.slots.raw() if type(raw) is list and raw and type(raw[0]) is int}
