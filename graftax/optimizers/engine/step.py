"""Step: what a rule may know of the update that it takes part in."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeAlias, TypeVar

from graftax.core.errors import AssignmentError
from graftax.core.typedefs import Array
from graftax.optimizers.engine.learning_rate import current
from graftax.optimizers.engine.numbers import cast_to, identity, is_on, number

T = TypeVar("T")


_GIVEN = ("learning_rate", "iterations", "count")


class Step:
    """What a rule may know of the step; all are scalars.

    Args:
        learning_rate: The rate now, in the dtype of ``value``; schedule and rules are in it.
        iterations: How many updates came before, int32; 0 in the first.
        count: The number of this update, from 1 on, in the dtype of ``value``.
        weight_decay: The decay that a rule with ``decays_inside`` has to take itself; a number. Defaults to 0.0.

    ``ignores_decay`` is True as long as there is a decay that nobody has read.
    """

    def __init__(self, learning_rate: Array, iterations: Array, count: Array, weight_decay: float = 0.0) -> None:
        self.learning_rate = learning_rate
        self.iterations = iterations
        self.count = count
        self._weight_decay = weight_decay
        self.ignores_decay = is_on(weight_decay)
        self._known: dict[Callable[[Step], Any], Any] = {}

    def __setattr__(self, name: str, value: object) -> None:
        if (name in _GIVEN and name in self.__dict__) or name == "weight_decay":
            raise AssignmentError(
                f"step.{name} = ... in an update",
                "one step is shared by all variables, and each of them would change it again",
                f"a name of your own: {name} = 0.5 * step.{name}",
            )
        object.__setattr__(self, name, value)

    @property
    def weight_decay(self) -> float:
        """Return the decay that a rule with ``decays_inside`` has to take itself."""
        self.ignores_decay = False
        return self._weight_decay

    def once(self, function: Callable[[Step], T]) -> T:
        """Return ``function(step)``, computed once for all variables that share this step."""
        if function not in self._known:
            self._known[function] = function(self)
        return self._known[function]  # type: ignore[no-any-return]


StepFor: TypeAlias = Callable[..., Step]


def steps_from(learning_rate: object, iterations: Array) -> StepFor:
    """Return ``step(dtype, multiplier=1.0, weight_decay=0.0)``: one `Step` for all variables that it is equal for.

    Args:
        learning_rate: What the optimizer keeps as its rate; a schedule is computed in each dtype that is asked for.
        iterations: How many updates came before.
    """
    made: dict[Hashable, Step] = {}

    def step(dtype: str, multiplier: object = 1.0, weight_decay: object = 0.0) -> Step:
        key = dtype, identity(multiplier), identity(weight_decay)
        if key not in made:
            rate = current(learning_rate, iterations, dtype)
            rate = rate if identity(multiplier) == 1 else rate * number(multiplier, dtype)
            decay: Any = number(weight_decay, dtype) if is_on(weight_decay) else 0.0
            made[key] = Step(rate, iterations, cast_to(iterations + 1, dtype), decay)
        return made[key]

    return step
