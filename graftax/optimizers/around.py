"""AroundOptimizer: the part that optimizers around another one have in common."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, ClassVar

from graftax.core.errors import ArgumentTypeError
from graftax.core.short_traceback import door
from graftax.optimizers.engine.explain import Explanation
from graftax.optimizers.engine.gradients import Variables
from graftax.optimizers.engine.learning_rate import LearningRate
from graftax.optimizers.optimizer import Optimizer
from graftax.variables.graph.module import Module
from graftax.variables.variable import Variable


class AroundOptimizer(Module):
    """An optimizer around another one, which takes the steps and has the rate."""

    _gx_fixed: ClassVar[frozenset[str]] = frozenset({"optimizer"})
    optimizer: Optimizer
    """The one inside."""

    def _gx_taken(self, optimizer: object) -> Optimizer:
        """Return what is to be inside, if it is an optimizer."""
        if not isinstance(optimizer, Optimizer):
            name = type(self).__name__
            raise ArgumentTypeError(
                f"{name} got {type(optimizer).__name__}", "another optimizer takes its steps", f"{name}(SGD(0.1))"
            )
        return optimizer

    @property
    def iterations(self) -> Variable:
        """Return how many updates the optimizer inside has made; see `Optimizer`."""
        return self.optimizer.iterations

    @property
    def learning_rate(self) -> Any:
        """Return the rate of the optimizer inside; see `Optimizer`."""
        return self.optimizer.learning_rate

    @learning_rate.setter
    def learning_rate(self, rate: LearningRate) -> None:
        self.optimizer.learning_rate = rate

    @door
    def averaged(self) -> AbstractContextManager[None]:
        """Swap in averages of what the optimizer inside makes; see `Optimizer.averaged`."""
        return self.optimizer.averaged()

    @door
    def assign_averages(self) -> None:
        """Assign the averages of the optimizer inside; see `Optimizer.assign_averages`."""
        self.optimizer.assign_averages()

    @door
    def explain(self, variables: Variables) -> Explanation:
        """Explain what the optimizer inside does with each variable; see `Optimizer.explain`."""
        return Explanation(repr(self), self.optimizer.explain(variables).rows)
