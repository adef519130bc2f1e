"""What a backend offers that runs functions on stand-ins for arrays: levels, what lives in them, nested containers.

A *level* is the trace that operations go to, an opaque object. Levels are compared with ``is`` only: code that no
transformation runs has the same one each time. A level inside another one is gone before that one.

*Nested containers* (trees) are tuples, lists, dicts, named tuples and None, and classes that the program registered
with the backend's library. The leaves of a dict come in the order in which it was written. ``flatten(x)`` of a leaf
gives ``[x]``; structures are hashable and equal where two trees have the same containers and keys.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from graftax.backend.axis_origins import AxisOrigins


class Checking(Protocol):
    """Checks inside of programs, and names for their parts."""

    def note_check(self, explain: Callable[..., Any], bad: object, looked_at: Sequence[Any]) -> None:
        """Write down that it is an error if ``bad`` is true; ``explain(*looked_at)``, with arrays of NumPy, makes it.

        Where operations run at once it is raised now. A program that has checks raises after it has run; inside of
        another program they become that one's.
        """
        ...

    def named(self, name: str) -> AbstractContextManager[Any]:
        """Make operations that are traced in the block belong to a part of that name, below those around it."""
        ...


class Tracing(Checking, AxisOrigins, Protocol):
    """Levels and nested containers: what every other ability stands on."""

    def is_tracer(self, x: object) -> bool:
        """Tell whether it is a traced value."""
        ...

    def level(self) -> Any:
        """Return the level that operations go to now."""
        ...

    def eager(self) -> bool:
        """Tell whether operations run at once."""
        ...

    def staged_within(self, level: object) -> bool:
        """Tell whether, inside ``level``, a program is being written down: concrete arrays would become its constants.

        None for any level: true in every such trace.
        """
        ...

    def leaks(self, value: object, level: object) -> bool:
        """Tell whether the value lives in a trace inside ``level``, and so will be gone before it."""
        ...

    def at(self, level: object) -> AbstractContextManager[Any]:
        """Send operations within the block to that level, which must be the present one or around it."""
        ...

    def read_within(self, level: object) -> bool:
        """Make sure that a trace inside ``level``, in which a Variable is read, is not kept for later.

        False if that cannot be: a jitted function, which will be met again, in a program that is not `stage`'s.
        """
        ...

    def flatten(self, tree: object) -> tuple[list[Any], Any]:
        """Return leaves and structure of nested containers; None is structure."""
        ...

    def flatten_with_ways(self, tree: object) -> tuple[list[tuple[tuple[str, ...], Any]], Any]:
        """Flatten, with the way to each leaf as Python writes it: ``(".mu", "[0]", "['w']")``."""
        ...

    def unflatten(self, structure: object, leaves: list[Any]) -> Any:
        """Put leaves back into their containers."""
        ...

    def eval_shape(self, function: Callable[..., Any], *args: Any) -> Any:
        """Return shapes and dtypes of the results; nothing is computed."""
        ...
