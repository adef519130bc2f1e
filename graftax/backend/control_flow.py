"""What a backend offers for control flow within a program: loops, branches, rematerialisation.

All of these are pure: functions of lists of arrays, that may close over arrays of the traces around them. State is
threaded through by whoever calls them (`graftax.transforms.lifting.parts`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Protocol

from graftax.backend.tracing import Tracing


class Staged(Protocol):
    """A function traced once: a program that holds no arrays."""

    @property
    def results(self) -> Sequence[Any]:
        """Return for each result an object with ``shape`` and ``dtype``; ``is_weak`` can be asked of it."""
        ...

    @property
    def numbers_gave_way(self) -> bool:
        """Tell whether a weak array, which a Python number became, took the dtype of another one somewhere inside."""
        ...

    @property
    def key(self) -> Hashable | None:
        """Return a key that is equal for programs that do the same; None where that is not known."""
        ...

    def may_equal(self, other: Any) -> bool:
        """Return False for a program that is known to do something else, also where there is no key."""
        ...

    def run(self, constants: Sequence[Any], cells: Sequence[Any], values: Sequence[Any]) -> list[Any]:
        """Return the results, for other values of the constants, of the cells that were read, and of the arguments."""
        ...

    def only(self, places: Sequence[int], effects: bool = True) -> Staged:
        """Return the program of some of the results, with what they need, and by default all effects."""
        ...


class ControlFlow(Tracing, Protocol):
    """Control flow within a program."""

    def stage(self, function: Callable[[Any, list[Any]], list[Any]], leaves: list[Any]) -> tuple[Staged, list[Any]]:
        """Run ``function(lift, leaves)`` once, abstractly; the program, and the arrays that it closes over.

        ``leaves`` are arrays, or objects with ``shape`` and ``dtype``; ``lift.read(cell, value)`` makes cells inputs.
        """
        ...

    def cond(self, pred: object, true_fn: Callable[[Any], Any], false_fn: Callable[[Any], Any], operand: object) -> Any:
        """Call one of two functions, chosen when the program runs; differentiable; rows of a map compute both."""
        ...

    def switch(self, index: object, branches: Sequence[Callable[[Any], Any]], operand: object) -> Any:
        """Call one of several functions; an index out of range means the first or the last."""
        ...

    def while_loop(
        self,
        cond_fn: Callable[[Any], Any],
        body_fn: Callable[[Any], Any],
        init: object,
        backwards: Callable[[], Exception],
    ) -> Any:
        """Run the body as long as the condition holds; differentiable forwards only: else ``backwards()`` is raised.

        It is raised whenever a gradient comes back to the loop, whatever transformation that is part of.
        """
        ...

    def scan(
        self, function: Callable[[Any, Any], tuple[Any, Any]], init: object, xs: object, length: int, reverse: bool
    ) -> tuple[Any, Any]:
        """Run ``length`` steps in one traced body; return the last carry and the stacked results; differentiable."""
        ...

    def remat(self, function: Callable[[Any], Any], policy: str | None) -> Callable[[Any], Any]:
        """Return a function that is computed again for its gradient in place of keeping what it computed.

        ``policy`` says what is kept all the same: None for nothing, ``"dots"`` for results of matrix products,
        ``"dots_without_batch"`` for those without batch axes.
        """
        ...
