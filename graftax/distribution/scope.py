"""The scope of a distribution: a creator scope that tells each Variable by whom it is placed."""

from __future__ import annotations

from dataclasses import replace

from graftax.core.typedefs import VariableLike
from graftax.distribution.placing import PlacedHome, Placing
from graftax.distribution.rules import RuleTallies
from graftax.variables.creation import CreatorScope, NextCreator
from graftax.variables.spec import VariableSpec
from graftax.variables.state.home import Described


class DistributionScope(CreatorScope):
    """One entered scope; counts what the rules select of what is made under it.

    Args:
        distribution: What places.
    """

    distributes = True

    def __init__(self, distribution: Placing) -> None:
        super().__init__(self._create, None, None)
        self.distribution = distribution
        self._tallies = RuleTallies(distribution.rules)

    @property
    def name(self) -> str:
        """Return how it is called in messages."""
        return f"{type(self.distribution).__name__}.scope()"

    def _create(self, next_creator: NextCreator, spec: VariableSpec) -> VariableLike:
        # the innermost distribution counts, and a slot lies where its variable does
        return next_creator(spec if spec.placement is not None else replace(spec, placement=self))

    def home(self, spec: Described) -> PlacedHome:
        """Return where a Variable made under it is to lie."""
        return self.distribution.home_for(spec, self._tallies)

    def check(self) -> None:
        """Raise if the scope is over, everything made under it is built, and a rule has selected nothing.

        Raises:
            SelectorError: names the rule, and the nearest candidates.
        """
        if self.closed and not self.waiting:
            self._tallies.check()
