"""What a backend offers that compiles: a function is traced once, and its program runs from then on."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

from graftax.backend.program import Program
from graftax.backend.tracing import Tracing
from graftax.core.typedefs import Array


class Compiling(Tracing, Protocol):
    """Traces functions and compiles them to programs."""

    @property
    def kind(self) -> Callable[[Array], object]:
        """Return the function that gives what is equal for arrays of one shape, dtype and weakness of that.

        It is called for each array at each call of a compiled function: one that runs in C is worth having.
        """
        ...

    def trace(
        self,
        function: Callable[[Any, list[Any]], tuple[list[Any], list[tuple[Any, Any]]]],
        leaves: list[Any],
        looks: str = "plain",
    ) -> Program:
        """Run ``function(lift, leaves) -> (results, [(cell, new value)])`` once, abstractly; see `Program`.

        ``looks`` says what a run of it raises for (`graftax.backend.traced_checks`).

        Raises:
            CompileError: it needs the value of a traced array; the message names the line.
        """
        ...

    def profile(self, directory: str) -> AbstractContextManager[None]:
        """Write down what the programs that run inside do and how long it takes, as a trace that Perfetto opens."""
        ...

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Compile a function, which must not read Variables."""
        ...
