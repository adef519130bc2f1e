"""Rules by which no weight of a model can change: its training does nothing, and this is told once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from graftax.core import user_line
from graftax.optimizers.engine.gradients import some_paths
from graftax.variables.graph.trained_model import Identity, trained

if TYPE_CHECKING:
    from graftax.variables.variable import Variable


class Movable(Protocol):
    """What rules say of a variable."""

    @property
    def can_move(self) -> bool:
        """Tell whether an update may change it."""
        ...

    @property
    def by(self) -> tuple[str, ...]:
        """Return the selectors of the rules."""
        ...


class Unmoved:
    """Looks for models of which rules move nothing, and tells of each once.

    A list of Variables may be a part that a program leaves alone on purpose; a model is looked at as a whole.
    """

    def __init__(self) -> None:
        self._told: set[Identity] = set()

    def look(self, optimizer: object, variables: Sequence[Variable], find: Callable[[Variable], Movable]) -> None:
        """Warn if rules let none of the trainable variables of the model in training change.

        Args:
            optimizer: The optimizer.
            variables: What it is given of the model.
            find: Returns the settings of one, those of an optimizer that its rule names included.
        """
        scope = trained.top
        if scope is None or scope.purpose != "training":
            return
        trainable = [variable for variable in variables if variable.trainable]
        if not trainable or any(find(variable).can_move for variable in trainable):
            return
        if (model := Identity(scope.module)) in self._told:
            return
        given = {id(variable) for variable in variables}
        if any(v.trainable and v.role == "weight" and id(v) not in given for v in scope.module.variables):
            return  # a part of it
        self._told.add(model)
        kind = type(optimizer).__name__
        rules = ", ".join(dict.fromkeys(text for variable in trainable for text in find(variable).by))
        user_line.warn(
            f"nothing is trained: rules= of {kind} for {rules:.100} let no weight of {type(scope.module).__name__} "
            f"{scope.module.name!r} change, {some_paths(trainable)}: all are frozen there, or have a "
            f'learning_rate_multiplier of 0. Instead: {kind}(..., rules=[("layers/0/**", {{"frozen": True}})]), which '
            "leaves others to train; to measure alone, model.evaluate(...) or model.trainable = False"
        )
