"""SM3."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Unpack

from graftax import ops
from graftax.core.typedefs import Array
from graftax.optimizers.arguments.kinds import FRACTION, Kinds
from graftax.optimizers.engine.arithmetic import moving_average
from graftax.optimizers.engine.learning_rate import LearningRate
from graftax.optimizers.engine.numbers import is_on
from graftax.optimizers.engine.options import Options
from graftax.optimizers.engine.slot import Slot, SlotValues
from graftax.optimizers.engine.step import Step
from graftax.optimizers.optimizer import Optimizer
from graftax.variables.variable import Variable


class SM3(Optimizer):
    """Adagrad with one accumulator for each row, column, and so on, in place of one for each element (SM3-II).

    An element's sum of squares is at most the least accumulator that covers it: ``v = min over axes(a) + g**2``;
    every accumulator becomes the largest v that it covers. ``w = w - rate * g / sqrt(v)``, and 0 / 0 = 0; no epsilon.
    With momentum, the step is the average ``m = momentum * m + (1 - momentum) * g / sqrt(v)``.

    Args:
        learning_rate: See `Optimizer`. Defaults to 0.1.
        momentum: How much of the average of steps is kept, in [0, 1); 0 keeps none, and no memory for it. Defaults to
            0.9.
        **options: See `Optimizer`.

    Raises:
        ArgumentError: the momentum is outside [0, 1).

    Example:
        >>> import graftax as gx
        >>> w = gx.Variable([[1.0, -2.0]])
        >>> optimizer = SM3(0.5, momentum=0.0)
        >>> optimizer.apply([[[3.0, -0.1]]], [w])
        >>> w.numpy().tolist(), optimizer.slot(w, "axis_0").shape, optimizer.slot(w, "axis_1").shape
        ([[0.5, -1.5]], (1, 1), (1, 2))

    Source: Anil et al., arXiv:1901.11150.
    """

    arguments: ClassVar[Kinds] = {"momentum": FRACTION}

    def __init__(self, learning_rate: LearningRate = 0.1, momentum: float = 0.9, **options: Unpack[Options]) -> None:
        super().__init__(learning_rate, **options)
        self.momentum = momentum

    def create_slots(self, variable: Variable) -> Mapping[str, Slot]:
        """Declare an accumulator along each axis, in a shape that broadcasts; the average of steps."""
        covers = {f"axis_{i}": Slot(shape=_broadcast_shape(i, variable.shape)) for i in range(max(variable.ndim, 1))}
        return covers | ({"momentum": Slot()} if is_on(self.momentum) else {})

    def update(self, gradient: Array, value: Array, slots: SlotValues, step: Step) -> tuple[Array, Mapping[str, Array]]:
        """Compute the new value of a variable, and of its slots."""
        names = [name for name in vars(slots) if name != "momentum"]
        bound = getattr(slots, names[0])
        for name in names[1:]:
            bound = ops.minimum(bound, getattr(slots, name))
        velocity = bound + gradient * gradient
        new = {}
        for i, name in enumerate(names):
            others = tuple(axis for axis in range(velocity.ndim) if axis != i)
            new[name] = ops.max(velocity, axis=others, keepdims=True) if others else velocity
        seen = velocity > 0
        direction = ops.where(seen, gradient / ops.sqrt(ops.where(seen, velocity, ops.ones_like(velocity))), gradient)
        if is_on(self.momentum):
            direction = moving_average(self.momentum, slots.momentum, direction)
            new["momentum"] = direction
        return value - step.learning_rate * direction, new


def _broadcast_shape(axis: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(length if i == axis else 1 for i, length in enumerate(shape))
