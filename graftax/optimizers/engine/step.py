"""Step: what a rule may know of the update that it takes part in."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from graftax.core.typedefs import Array
from graftax.optimizers.engine.learning_rate import current
from graftax.optimizers.engine.numbers import cast_to, identity, number

T = TypeVar("T")


class Step:
    """What a rule may know of the step; all are scalars.

    Args:
        learning_rate: The rate now, in the dtype of ``value``; schedule and rules are in it.
        iterations: How many updates came before, int32; 0 in the first.
        count: The number of this update, from 1 on, in the dtype of ``value``.
        weight_decay: The decay that a rule with ``decays_inside`` has to take itself; a number.
    """

    def __init__(self, learning_rate: Array, iterations: Array, count: Array, weight_decay: float = 0.0) -> None:
        self.learning_rate = learning_rate
        self.iterations = iterations
        self.count = count
        self.weight_decay = weight_decay
        self._known: dict[Callable[[Step], Any], Any] = {}

    def once(self, function: Callable[[Step], T]) -> T:
        """``function(step)``, computed once for all variables that share this step."""
        if function not in self._known:
            self._known[function] = function(self)
        return self._known[function]  # type: ignore[no-any-return]


class Steps:
    """The `Step` of each dtype, multiplier and decay."""

    def __init__(self, learning_rate: Any, iterations: Array) -> None:
        self._rate = learning_rate  # a schedule is computed in the dtype of the variables that it is for
        self._iterations = iterations
        self._made: dict[Hashable, Step] = {}

    def step(self, dtype: str, multiplier: Any, weight_decay: Any = 0.0) -> Step:
        """The one for a variable that is updated in this dtype."""
        key = dtype, identity(multiplier), identity(weight_decay)
        if key not in self._made:
            rate = current(self._rate, self._iterations, dtype)
            count = cast_to(self._iterations + 1, dtype)
            rate = rate if identity(multiplier) == 1 else rate * number(multiplier, dtype)
            self._made[key] = Step(rate, self._iterations, count, number(weight_decay, dtype))
        return self._made[key]
