"""What the parts of a distribution ask of it: where a Variable is to lie, and why."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from graftax.backend.meshes import Axes, Mesh
from graftax.backend.protocol import Backend
from graftax.distribution.rules import CheckedRule, RuleTallies
from graftax.variables.state.home import Described, Home

SPLIT_ROLES = ("weight", "state")
"""Roles of Variables that rules see. A slot lies as its variable does; each device has a copy of all others."""


class Decision(NamedTuple):
    """Where a Variable is to lie, and why."""

    axes: Axes
    """Those that split it as it is stored, for each dimension."""
    ruled: Axes
    """Those that rules give, with which it is computed."""
    why: str


class PlacedHome(Home, Protocol):
    """A home with the axes that it was made of."""

    axes: Axes


class Placing(Protocol):
    """A distribution, as its parts see it."""

    backend: Backend
    mesh: Mesh
    data: tuple[str, ...]
    rules: tuple[CheckedRule, ...]
    tolerance: float

    def decide(self, spec: Described, tallies: RuleTallies | None = None) -> Decision:
        """Return where a Variable is to lie, and why."""
        ...

    def home(self, spec: Described) -> PlacedHome:
        """Return the home of a Variable."""
        ...

    def home_for(self, spec: Described, tallies: RuleTallies | None) -> PlacedHome:
        """Return the home of a Variable, with the rules counting what they select."""
        ...

    def home_of_axes(self, axes: Axes, computed: Axes | None = None) -> PlacedHome:
        """Return a home by its axes."""
        ...

    @property
    def home_beside(self) -> PlacedHome:
        """Return the home of what is in a program with others that were placed."""
        ...

    def _gx_before_first_run(self, cells: Any, arguments: Any, writes: bool, text: Any) -> None: ...

    def _gx_unsplit(self, spec: Described, decision: Decision) -> str | None: ...
