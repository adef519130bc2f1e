"""Which part of a graph is meant: ``only`` and ``skip``, selectors of paths and roles, each of which must match."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from graftax.selectors import Selector, SelectorLike, compile_selector, nothing_matched


class Spot(NamedTuple):
    """A path and a role, as selectors see them."""

    path: str
    role: str


class Subset:
    """A test on paths and roles.

    Args:
        only: What is meant; everything, unless told.
        skip: What is left out of that.
    """

    def __init__(self, only: SelectorLike | None = None, skip: SelectorLike | None = None) -> None:
        self._only = _parts(only)
        self._skip = _parts(skip)
        self._all = only is None

    @property
    def is_all(self) -> bool:
        """True if nothing is left out."""
        return self._all and not self._skip

    def __contains__(self, spot: Spot) -> bool:
        if not self._all and not any(part.matches(spot) for part in self._only):
            return False
        return not any(part.matches(spot) for part in self._skip)

    def check(self, spots: Iterable[Spot]) -> None:
        """Raise if a selector matches none of these.

        Raises:
            SelectorError: it does not, so it was given in vain.
        """
        if self.is_all:
            return
        known = list(spots)
        for what, parts in (("only=", self._only), ("skip=", self._skip)):
            for part in parts:
                if not any(part.matches(spot) for spot in known):
                    raise nothing_matched(part, [spot.path for spot in known], what)


def _parts(selector: SelectorLike | None) -> list[Selector]:
    if selector is None:
        return []
    if isinstance(selector, Sequence) and not isinstance(selector, str):
        return [compile_selector(part) for part in selector]
    return [compile_selector(selector)]
