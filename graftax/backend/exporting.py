"""What a backend offers that exports: programs with free sizes, as bytes that run without graftax."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from graftax.backend.equations import Equations
from graftax.backend.program import Program
from graftax.backend.tracing import Tracing
from graftax.core.typedefs import Shape

Size = int | str
"""A size of an exported program: a number, or an expression of names, such as ``"2*batch"``."""


class ExportedArray(NamedTuple):
    """What comes into an exported program or goes out of it."""

    shape: tuple[Size, ...]
    dtype: str


class ExportedProgram(NamedTuple):
    """A program as bytes: a function of three lists, ``(donated, read_only, leaves) -> (results, new values)``."""

    program: bytes
    """For the loader: it is run by the library of the backend alone."""
    portable: bytes
    """For other compilers."""
    results: tuple[ExportedArray, ...]
    convention: int
    """The number of the calling convention."""


class Exporting(Tracing, Protocol):
    """Writes functions to files."""

    @property
    def equations(self) -> Equations:
        """Return what tells of equations, for writing a program in another language."""
        ...

    def free_inputs(self, inputs: Sequence[tuple[Sequence[Size], str]], constraints: Sequence[str]) -> list[Any]:
        """Return stand-ins for arrays of these shapes and dtypes, for `Compiling.trace`; names are sizes, one scope.

        Raises:
            ExportError: an expression or a constraint cannot be read.
        """
        ...

    def outline(self, shape: Shape, dtype: str) -> Any:
        """Return a stand-in for an array of this shape and dtype, for `Compiling.trace`."""
        ...

    def sizes_of(self, leaf: Any) -> tuple[Size, ...]:
        """Return the shape of a stand-in, its free sizes as text."""
        ...

    def export(
        self,
        program: Program,
        leaves: Sequence[Any],
        results: int,
        platforms: Sequence[str],
        vjp_order: int = 0,
        inside: bool = False,
    ) -> ExportedProgram:
        """Write a program down that was traced for stand-ins.

        Args:
            program: What `Compiling.trace` returned for ``leaves``.
            leaves: Those of `free_inputs`.
            results: How many of its outputs are results; new values come after them.
            platforms: Where it is to run.
            vjp_order: How often it can be differentiated. Defaults to 0.
            inside: Whether values that are only read are constants of the program. Defaults to False.

        Raises:
            ExportError: something in it cannot be written down.
        """
        ...

    def versions(self) -> Mapping[str, str]:
        """Return the versions of the libraries that an artefact depends on, by name."""
        ...
