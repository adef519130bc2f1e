"""Former names of attributes and classes, which classes declare as ``checkpoint_aliases``."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any, TypeVar

from graftax.checkpoint.index import Edge
from graftax.core.errors import ArgumentTypeError

T = TypeVar("T")


class _FormerNames(dict[type[Any], dict[str, str]]):
    """The former and present names of attributes by class, including those that base classes declare.

    Raises:
        ArgumentTypeError: ``checkpoint_aliases`` is not a dict of names.
    """

    def __missing__(self, kind: type[Any]) -> dict[str, str]:
        found: dict[str, str] = {}
        for base in reversed(kind.__mro__):
            own = base.__dict__.get("checkpoint_aliases", {})
            if not isinstance(own, Mapping) or not all(isinstance(text, str) for pair in own.items() for text in pair):
                raise ArgumentTypeError(
                    f"{base.__name__}.checkpoint_aliases is {own!r:.80}",
                    "it is a dict from former names of attributes to their present names",
                    'checkpoint_aliases = {"old_name": "name"}',
                )
            found |= own
        self[kind] = found
        return found


_former_names = _FormerNames()


def with_names_of_now(kind: type[Any], edges: dict[Edge, T], held: Container[Edge] = ()) -> dict[Edge, T]:
    """Return the edges of a saved object under the present names of a class of the program.

    Args:
        kind: The class.
        edges: The edges.
        held: What the object of the program has: it may use a former name, not the present one. Defaults to nothing.
    """
    known = {former: now for former, now in _former_names[kind].items() if former not in held or now in held}
    if not known:
        return edges
    return {_current_name(edge, edges, known): child for edge, child in edges.items()}


def _current_name(edge: Edge, edges: Mapping[Edge, object], names: Mapping[str, str]) -> Edge:
    now = names.get(edge) if isinstance(edge, str) else None
    return edge if now is None or now in edges else now


def is_class(saved: str, kind: type[Any], now: str) -> bool:
    """Return True if a class saved under a former name is the one that has the name ``now``."""
    return saved == now or _former_names[kind].get(saved) == now
