"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Unpack

from graftax.core.errors import ArgumentError
from graftax.core.typedefs import Array
from graftax.optimizers.arguments.kinds import FLAG, FRACTION, Kinds
from graftax.optimizers.engine.learning_rate import LearningRate
from graftax.optimizers.engine.numbers import is_on
from graftax.optimizers.engine.options import Options
from graftax.optimizers.engine.slot import Slot, SlotValues
from graftax.optimizers.engine.step import Step
from graftax.optimizers.optimizer import Optimizer
from graftax.variables.variable import Variable


class SGD(Optimizer):
    """Stochastic gradient descent, with momentum as in Keras: the rate of each step stays in its part of the momentum.

    ``m = momentum * m - rate * g;  w = w + m``, with Nesterov's look-ahead ``w = w + momentum * m - rate * g``.

    Args:
        learning_rate: See `Optimizer`. Defaults to 0.01.
        momentum: How much of the last move is kept, in [0, 1); 0 keeps none, and no slot. Defaults to 0.0.
        nesterov: Whether to look ahead; needs momentum. Defaults to False.
        **options: See `Optimizer`.

    Raises:
        ArgumentError: momentum outside [0, 1), or nesterov without it.

    Example:
        >>> import graftax as gx
        >>> w = gx.Variable([1.0, -2.0])
        >>> SGD(0.5).apply([[1.0, 1.0]], [w])
        >>> w.numpy().tolist()
        [0.5, -2.5]

    Source: Sutskever et al., On the importance of initialization and momentum in deep learning, ICML 2013.
    """

    elementwise = True

    arguments: ClassVar[Kinds] = {"momentum": FRACTION, "nesterov": FLAG}

    def __init__(
        self,
        learning_rate: LearningRate = 0.01,
        momentum: float = 0.0,
        nesterov: bool = False,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        self.momentum = momentum
        self.nesterov = nesterov
        self._gx_check_together()

    def _gx_check_together(self) -> None:
        """Raise for Nesterov's look-ahead without momentum."""
        if self.nesterov and not is_on(self.momentum):
            raise ArgumentError(
                f"SGD: momentum={self.momentum!r}, nesterov={self.nesterov!r}",
                "nesterov looks ahead along it",
                "momentum=0.9",
            )

    def create_slots(self, variable: Variable) -> Mapping[str, Slot]:
        """Declare the momentum, if there is any."""
        return {"momentum": Slot()} if is_on(self.momentum) else {}

    def update(self, gradient: Array, value: Array, slots: SlotValues, step: Step) -> tuple[Array, Mapping[str, Array]]:
        """Compute the new value of a variable, and of its slots."""
        move = -step.learning_rate * gradient
        if not is_on(self.momentum):
            return value + move, {}
        momentum = self.momentum * slots.momentum + move
        return value + (self.momentum * momentum + move if self.nesterov else momentum), {"momentum": momentum}
