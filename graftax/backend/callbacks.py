"""What a backend offers that calls Python from inside of a program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from graftax.backend.tracing import Tracing


class Callbacks(Tracing, Protocol):
    """Functions of Python, called with concrete arrays while a program runs."""

    def callback(
        self,
        function: Callable[..., Sequence[Any]],
        differentiate: Callable[[Callable[..., Sequence[Any]], int], Callable[..., Sequence[Any]]],
        shapes: Callable[[], Sequence[Any]],
        args: Sequence[Any],
    ) -> list[Any]:
        """Call ``function(*args)`` in Python with concrete arrays, even inside a program; an exception ends that.

        ``differentiate(function, n)`` makes of it the function from ``n`` cotangents of the floating results, and the
        arguments after these, to cotangents of the floating arguments. ``shapes()`` gives an object with ``shape`` and
        ``dtype`` for each result; it is asked where a program needs it.
        """
        ...

    def effect(self, function: Callable[..., Any], args: Sequence[Any]) -> None:
        """Call ``function(*args)`` for its effect alone, which happens at each run."""
        ...

    def settle(self) -> None:
        """Wait until the effects of all programs that were started have happened."""
        ...
