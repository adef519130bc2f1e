"""Which part of a graph is meant: ``only`` and ``skip``, selectors, of which each part must match."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from graftax.checkpoint.index import Index, Kind
from graftax.core.selectors import SelectorLike, Tally, compile_selector
from graftax.variables.graph.module import Module


class Saved(NamedTuple):
    """A Variable of a checkpoint, as classes and predicates see it; ``owner`` is what would hold it in the program."""

    path: str
    role: str
    shape: tuple[int, ...]
    dtype: str
    trainable: bool
    adapter: str | None
    owner: Module | None


class Spot(NamedTuple):
    """What selectors see: a path and a role, what is there, and the paths of the expressions that it is a part of."""

    path: str
    role: str
    item: Any = None
    wholes: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """All paths by which it is selected."""
        return (self.path, *self.wholes)


def saved_spot(index: Index, node: int, path: str, owner: Module | None = None) -> Spot:
    """The spot of a leaf of a checkpoint."""
    record = index.nodes[node]
    if record.kind is not Kind.VARIABLE:
        return Spot(path, "")
    tensor, trainable, role, attributes = record.payload
    adapter = attributes.get("adapter")
    if tensor is None:
        return Spot(path, role)
    array = index.tensors[tensor]
    return Spot(path, role, Saved(path, role, array.shape, array.dtype, trainable, adapter, owner))


class Subset:
    """A test of spots.

    Args:
        only: What is meant; everything, unless told.
        skip: What is left out of that.
    """

    def __init__(self, only: SelectorLike | None = None, skip: SelectorLike | None = None) -> None:
        self._only = None if only is None else compile_selector(only)
        self._skip = None if skip is None or skip == () or skip == [] else compile_selector(skip)

    @property
    def is_all(self) -> bool:
        """True if nothing is left out."""
        return self._only is None and self._skip is None

    def __contains__(self, spot: Spot) -> bool:
        if self._only is not None and not self._only.sees(spot.paths, spot.role, spot.item):
            return False
        return self._skip is None or not self._skip.sees(spot.paths, spot.role, spot.item)

    def check(self, spots: Iterable[Spot]) -> None:
        """Raise if a selector, or a part of one, matches none of these.

        Raises:
            SelectorError: it does not, so it was given in vain.
        """
        if self.is_all:
            return
        known = list(spots)
        for what, selector in (("only=", self._only), ("skip=", self._skip)):
            if selector is not None:
                tally = Tally(selector)
                for spot in known:
                    tally.see(spot.paths, spot.role, spot.item)
                tally.check(what)
