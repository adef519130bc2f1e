"""Which Module a list of Variables was taken from: ``model.trainable_variables``, as it was when somebody asked."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import NamedTuple

from graftax.variables.graph.node import Node


class Listing(NamedTuple):
    """The trainable Variables of a Module when they were listed.

    Args:
        module: The Module, weakly.
        ids: The ids of the Variables.
        number: How many lists had been made.
    """

    module: weakref.ref[Node]
    ids: tuple[int, ...]
    number: int


class Listings:
    """The latest list of each Module."""

    def __init__(self) -> None:
        self._by_module: weakref.WeakKeyDictionary[Node, Listing] = weakref.WeakKeyDictionary()
        self.latest: Listing | None = None
        """The list that was made last."""

    def note(self, module: Node, variables: Sequence[Node]) -> None:
        """Note that the trainable Variables of a Module were listed."""
        number = 0 if self.latest is None else self.latest.number + 1
        self.latest = self._by_module[module] = Listing(weakref.ref(module), tuple(map(id, variables)), number)

    def find(self, variables: Sequence[Node], latest: Listing | None) -> Node | None:
        """Return the Module whose list this is; None if somebody chose the Variables.

        Args:
            variables: The Variables.
            latest: The latest list when they were given. If it is the same, it is this one.
        """
        ids = tuple(map(id, variables))
        if latest is not None and latest.ids == ids:
            return latest.module()
        found: Listing | None = None
        above = variables[0]._gx_owner if variables else None
        while above is not None:
            known = self._by_module.get(above)
            if known is not None and known.ids == ids and (found is None or known.number > found.number):
                found = known
            above = above._gx_owner
        return None if found is None else found.module()


listings = Listings()
