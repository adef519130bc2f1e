"""What a backend tells of the equations of a program, to whoever writes it down in another language.

A *program* has ``invars``, ``constvars``, ``outvars`` and ``eqns``; an *equation* has ``primitive.name``, ``params``,
``invars`` and ``outvars``. What goes in and comes out has ``aval.shape`` and ``aval.dtype``; a constant has ``val``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from graftax.core.culprit import Culprit

if TYPE_CHECKING:
    import numpy as np


class Equations(Protocol):
    """Questions about equations."""

    def evaluate(self, equations: Sequence[Any], values: dict[Any, Any], outputs: Sequence[Any]) -> list[Any]:
        """Return what variables are after these equations, for values of others, as arrays of NumPy."""
        ...

    def inline(self, equation: Any) -> Any | None:
        """Return the program that an equation stands for, such as a compiled function; None for an operation."""
        ...

    def open_program(self, program: Any) -> tuple[Any, list[np.ndarray[Any, Any]]]:
        """Return a program and its constants."""
        ...

    def scan_counts(self, parameters: dict[str, Any]) -> tuple[int, int]:
        """Return how many constants and how much carry a loop over rows has."""
        ...

    def locate(self, around: Sequence[Any]) -> Culprit:
        """Return what the last of equations, each inside of the one before, is, and where it comes from."""
        ...
