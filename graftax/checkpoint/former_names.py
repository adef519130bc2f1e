"""What attributes and classes were called before, as their classes say it: ``checkpoint_aliases``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from graftax.checkpoint.index import Edge
from graftax.core.errors import ArgumentTypeError

T = TypeVar("T")


class _FormerNames(dict[type[Any], dict[str, str]]):
    """Names of before and of now by class, those that base classes declare among them.

    Raises:
        ArgumentTypeError: a class declares something else.
    """

    def __missing__(self, kind: type[Any]) -> dict[str, str]:
        found: dict[str, str] = {}
        for base in reversed(kind.__mro__):
            own = base.__dict__.get("checkpoint_aliases", {})
            if not isinstance(own, Mapping) or not all(isinstance(text, str) for pair in own.items() for text in pair):
                raise ArgumentTypeError(
                    f"{base.__name__}.checkpoint_aliases is {own!r:.80}",
                    "it says what attributes were called before: names of before, and names of now",
                    'checkpoint_aliases = {"old_name": "name"}',
                )
            found |= own
        self[kind] = found
        return found


_former_names = _FormerNames()


def with_names_of_now(kind: type[Any], edges: dict[Edge, T]) -> dict[Edge, T]:
    """The edges of a saved object under the names that a class of the program has for them."""
    known = _former_names[kind]
    if not known:
        return edges
    return {_name_of_now(edge, edges, known): child for edge, child in edges.items()}


def _name_of_now(edge: Edge, edges: Mapping[Edge, object], known: Mapping[str, str]) -> Edge:
    now = known.get(edge) if isinstance(edge, str) else None
    return edge if now is None or now in edges else now


def is_class(saved: str, kind: type[Any], now: str) -> bool:
    """True if a class that was saved under a name is the one that has another name now."""
    return saved == now or _former_names[kind].get(saved) == now
