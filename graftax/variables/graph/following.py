"""State about a base: it follows where the base takes a value that no training step gave."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from graftax.variables.graph.module import Module
from graftax.variables.state import storage
from graftax.variables.variable import Variable


class Follower(Module):
    """A Module that may keep state which is computed from a part of it, the base."""

    def follow_base(self) -> None:
        """Bring state that is computed from the base up to date; defaults to nothing.

        It is called where the base takes a value that no training step gave: that of a plain weight of a checkpoint, or
        an average of the optimizer. Call it after an assignment to the base.
        """

    def _gx_state_about_base(self) -> list[Variable]:
        """Return the Variables that are neither trained nor part of the base."""
        return []


def followers(changed: Iterable[Any]) -> list[Follower]:
    """Return what is above weights that took new values and has state that did not, what is inside of others first."""
    weights = list(changed)
    above = {id(owner): owner for weight in weights for owner in _owners(weight) if _keeps_state(owner)}
    if not above:
        return []
    written = {id(leaf) for weight in weights for leaf in leaves_of(weight)}
    found = [owner for owner in above.values() if any(id(v) not in written for v in owner._gx_state_about_base())]
    return sorted(found, key=lambda owner: -len(owner._gx_way()))


def follow(follower: Follower) -> None:
    """Bring the state up to date; the base is read as it is stored."""
    with storage.autocast.entered(None):
        follower.follow_base()


def leaves_of(weight: Any) -> list[Variable]:
    """Return the Variables of a weight."""
    return weight.variables if isinstance(weight, Module) else [weight]


def _owners(weight: Any) -> Iterator[Follower]:
    owner = weight._gx_owner
    while owner is not None:
        if isinstance(owner, Follower):
            yield owner
        owner = owner._gx_owner


def _keeps_state(owner: Follower) -> bool:
    return type(owner).follow_base is not Follower.follow_base
