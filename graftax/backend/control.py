"""What a backend with transforms offers for control flow: loops, branches, rematerialisation, calls of Python.

All of these are pure: functions of lists of arrays, that may close over arrays of the traces around them. State is
threaded through by whoever calls them (`graftax.transforms.lifting.parts`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol


class Staged(Protocol):
    """A function traced once: a program that holds no arrays."""

    @property
    def results(self) -> Sequence[Any]:
        """For each result an object with ``shape`` and ``dtype``; ``is_weak`` can be asked of it."""
        ...

    @property
    def numbers_gave_way(self) -> bool:
        """True if a weak array, which a Python number became, took the dtype of another one somewhere inside."""
        ...

    @property
    def key(self) -> Hashable | None:
        """Equal for programs that do the same; None where that is not known."""
        ...

    def run(self, constants: Sequence[Any], cells: Sequence[Any], values: Sequence[Any]) -> list[Any]:
        """The results, for other values of the constants, of the cells that were read, and of the arguments."""
        ...

    def only(self, places: Sequence[int], effects: bool = True) -> Staged:
        """The program of some of the results: it takes the same, and does what they need; all effects, unless told."""
        ...


class ControlFlow(Protocol):
    """Control flow within a program."""

    def stage(self, function: Callable[[Any, list[Any]], list[Any]], leaves: list[Any]) -> tuple[Staged, list[Any]]:
        """Run ``function(lift, leaves)`` once, abstractly; the program, and the arrays that it closes over.

        ``leaves`` are arrays, or objects with ``shape`` and ``dtype``; ``lift.read(cell, value)`` makes cells inputs.
        """
        ...

    def read_within(self, level: Any) -> bool:
        """A Variable is read in a function that is traced inside ``level``: see to it that this is not kept for later.

        False if that cannot be: a jitted function, which will be met again, in a program that is not `stage`'s.
        """
        ...

    def at(self, level: Any) -> AbstractContextManager[Any]:
        """Inside, operations go to that level, which must be the present one or around it."""
        ...

    def cond(self, pred: Any, true_fn: Callable[[Any], Any], false_fn: Callable[[Any], Any], operand: Any) -> Any:
        """One of two functions, chosen when the program runs; differentiable; both are computed for rows of a map."""
        ...

    def switch(self, index: Any, branches: Sequence[Callable[[Any], Any]], operand: Any) -> Any:
        """One of several functions; an index out of range means the first or the last."""
        ...

    def while_loop(
        self,
        cond_fn: Callable[[Any], Any],
        body_fn: Callable[[Any], Any],
        init: Any,
        backwards: Callable[[], Exception],
    ) -> Any:
        """The body as long as the condition holds; differentiable forwards only: otherwise what ``backwards()`` gives.

        It is raised whenever a gradient comes back to the loop, whatever transformation that is part of.
        """
        ...

    def scan(
        self, function: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any, length: int, reverse: bool
    ) -> tuple[Any, Any]:
        """The last carry and the stacked results of ``length`` steps, in one traced body; differentiable."""
        ...

    def remat(self, function: Callable[[Any], Any], policy: str | None) -> Callable[[Any], Any]:
        """The function, computed again for its gradient in place of keeping what it computed.

        ``policy`` says what is kept all the same: None for nothing, ``"dots"`` for results of matrix products,
        ``"dots_without_batch"`` for those without batch axes.
        """
        ...

    def callback(
        self,
        function: Callable[..., Sequence[Any]],
        differentiate: Callable[[Callable[..., Sequence[Any]], int], Callable[..., Sequence[Any]]],
        shapes: Callable[[], Sequence[Any]],
        args: Sequence[Any],
    ) -> list[Any]:
        """``function(*args)`` in Python with concrete arrays, even from inside a program; an exception ends that.

        ``differentiate(function, n)`` makes of it the function from ``n`` cotangents of the floating results, and the
        arguments after these, to cotangents of the floating arguments. ``shapes()`` gives an object with ``shape`` and
        ``dtype`` for each result; it is asked where a program needs it.
        """
        ...

    def effect(self, function: Callable[..., Any], args: Sequence[Any]) -> None:
        """The same for its effect alone, which happens at each run."""
        ...
