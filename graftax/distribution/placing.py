"""The interface of distributions for their parts: the placement of a Variable, with its reason."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from graftax.backend.meshes import Axes, Mesh
from graftax.backend.protocol import Backend
from graftax.distribution.rules import CheckedRule, RuleTallies
from graftax.variables.state.home import Described, Home

SPLIT_ROLES = ("weight", "state")
"""The roles of Variables that rules apply to. Slots are placed like their Variable; all others are replicated."""


class Decision(NamedTuple):
    """The placement of a Variable, with its reason."""

    axes: Axes
    """The axes of each dimension of the stored array."""
    ruled: Axes
    """The axes by the rules, which are used in computations."""
    why: str


class PlacedHome(Home, Protocol):
    """A home with its axes."""

    axes: Axes


class Placing(Protocol):
    """The interface of a distribution."""

    backend: Backend
    mesh: Mesh
    data: tuple[str, ...]
    rules: tuple[CheckedRule, ...]
    tolerance: float

    def decide(self, spec: Described, tallies: RuleTallies | None = None) -> Decision:
        """Return the placement of a Variable, with its reason."""
        ...

    def home(self, spec: Described) -> PlacedHome:
        """Return the home of a Variable."""
        ...

    def home_for(self, spec: Described, tallies: RuleTallies | None) -> PlacedHome:
        """Return the home of a Variable, and count what the rules select."""
        ...

    def home_of_axes(self, axes: Axes, computed: Axes | None = None) -> PlacedHome:
        """Return the home with these axes."""
        ...

    @property
    def home_beside(self) -> PlacedHome:
        """Return the home of Variables that were not placed but are used in a program with placed ones."""
        ...

    def _gx_before_first_run(self, cells: Any, arguments: Any, writes: bool, text: Any) -> None: ...

    def _gx_unsplit(self, spec: Described, decision: Decision) -> str | None: ...
