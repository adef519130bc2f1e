"""Rprop: steps by sign, whose sizes grow and shrink; for gradients of the whole data set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Unpack

from graftax import ops
from graftax.core.typedefs import Array
from graftax.optimizers.arguments.kinds import AROUND_ONE, FACTOR, INSIDE, Kinds
from graftax.optimizers.engine.learning_rate import LearningRate
from graftax.optimizers.engine.options import Options
from graftax.optimizers.engine.slot import Slot, SlotValues
from graftax.optimizers.engine.step import Step
from graftax.optimizers.optimizer import Optimizer
from graftax.variables.variable import Variable


class Rprop(Optimizer):
    """Each element moves against the sign of its gradient, farther while the sign stays, less far when it turns.

    With ``c = g * g_before``: ``s = s * grow`` where ``c > 0``, ``s * shrink`` where ``c < 0``; there also ``g = 0``,
    so that this update and the next change nothing else. ``w = w - rate * s * sign(g)``; ``s`` starts at 1.

    Args:
        learning_rate: Size of the first step of each element; see `Optimizer`. Defaults to 0.01.
        shrink: Factor when the sign turns, in (0, 1). Defaults to 0.5.
        grow: Factor while it stays, above 1. Defaults to 1.2.
        limits: Least and largest ``s``: sizes as multiples of the rate, where torch and optax limit the sizes
            themselves. Defaults to ``(1e-4, 5e3)``.
        **options: See `Optimizer`.

    Raises:
        ArgumentError: a factor or the limits are out of range.

    Example:
        >>> import graftax as gx
        >>> w = gx.Variable([1.0, -2.0])
        >>> optimizer = Rprop(0.5)
        >>> for gradient in [3.0, -0.1], [2.0, 0.1]:
        ...     optimizer.apply([gradient], [w])
        >>> print(w.numpy().round(3))
        [-0.1 -1.5]

    Source: Riedmiller and Braun, A direct adaptive method for faster backpropagation learning, ICNN 1993.
    """

    elementwise = True

    arguments: ClassVar[Kinds] = {"shrink": INSIDE, "grow": FACTOR, "limits": AROUND_ONE}

    def __init__(
        self,
        learning_rate: LearningRate = 0.01,
        shrink: float = 0.5,
        grow: float = 1.2,
        limits: tuple[float, float] = (1e-4, 5e3),
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        self.shrink = shrink
        self.grow = grow
        self.limits = limits

    def create_slots(self, variable: Variable) -> Mapping[str, Slot]:
        """Declare the sizes of steps, and the gradient before."""
        return {"scale": Slot(initializer=1.0), "gradient": Slot()}

    def update(self, gradient: Array, value: Array, slots: SlotValues, step: Step) -> tuple[Array, Mapping[str, Array]]:
        """Compute the new value of a variable, and of its slots."""
        turned = gradient * slots.gradient
        factor = ops.where(turned > 0, self.grow, ops.where(turned < 0, self.shrink, 1.0))
        scale = ops.clip(slots.scale * ops.cast(factor, str(slots.scale.dtype)), *self.limits)
        gradient = ops.where(turned < 0, 0.0, gradient)
        return value - step.learning_rate * scale * ops.sign(gradient), {"scale": scale, "gradient": gradient}
