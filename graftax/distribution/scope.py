"""The scope of a distribution: a creator scope that sets the placement of each Variable."""

from __future__ import annotations

from dataclasses import replace

from graftax.core.typedefs import VariableLike
from graftax.distribution.placing import PlacedHome, Placing
from graftax.distribution.rules import RuleTallies
from graftax.variables.creation import CreatorScope, NextCreator
from graftax.variables.spec import VariableSpec
from graftax.variables.state.home import Described


class DistributionScope(CreatorScope):
    """One entered scope, which counts what the rules select among the Variables created in it.

    Args:
        distribution: The distribution.
    """

    distributes = True

    def __init__(self, distribution: Placing) -> None:
        super().__init__(self._create, None, None)
        self.distribution = distribution
        self._tallies = RuleTallies(distribution.rules)

    @property
    def name(self) -> str:
        """Return the name of the scope for messages."""
        return f"{type(self.distribution).__name__}.scope()"

    def _create(self, next_creator: NextCreator, spec: VariableSpec) -> VariableLike:
        # the innermost distribution is used, and slots are placed like their Variable
        return next_creator(spec if spec.placement is not None else replace(spec, placement=self))

    def home(self, spec: Described) -> PlacedHome:
        """Return the home of a Variable created in the scope."""
        return self.distribution.home_for(spec, self._tallies)

    def check(self) -> None:
        """Raise if the scope has ended, all layers constructed in it are built, and a rule has selected nothing.

        Raises:
            SelectorError: the message names the rule, and the nearest candidates.
        """
        if self.closed and not self.waiting:
            self._tallies.check()
