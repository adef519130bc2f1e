"""Update: one variable and its gradient, on the way through the stages of `Optimizer.apply`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graftax.optimizers.engine.rule import Rule
from graftax.optimizers.engine.settings import Settings
from graftax.optimizers.engine.slot import OF_THE_BASE
from graftax.optimizers.engine.sparse_rows import TouchedRows
from graftax.variables.variable import Variable


@dataclass(slots=True, eq=False)
class Update:
    """One variable that an optimizer is about to change. Stages make new ones, since a branch may drop theirs.

    Args:
        variable: What changes.
        gradient: As it was given, and from `plan` on an array in the dtype of the update; where ``rows`` is set, the
            sum for each distinct row.
        slots: What the optimizer in whose stages this is keeps for the variable, by name.
        settings: The numbers that hold for the variable in that optimizer.
        rule: What computes the new value: that optimizer, or another one that its rules name.
        rows: Which rows the gradient touches. Defaults to None, all of them.
    """

    variable: Variable
    gradient: Any
    slots: Mapping[str, Variable]
    settings: Settings
    rule: Rule
    rows: TouchedRows | None = None

    def with_gradient(self, gradient: object, rows: TouchedRows | None = None) -> Update:
        """Return the same update along another gradient."""
        return Update(self.variable, gradient, self.slots, self.settings, self.rule, rows or self.rows)

    def rule_slots(self) -> dict[str, Variable]:
        """Return the slots that `Rule.update` sees."""
        return {name: slot for name, slot in self.slots.items() if name not in OF_THE_BASE}
