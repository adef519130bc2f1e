"""Adafactor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Unpack

from graftax import ops
from graftax.core.typedefs import Array
from graftax.optimizers.arguments.kinds import FLAG, NOT_NEGATIVE, POSITIVE, Kinds
from graftax.optimizers.engine.arithmetic import root
from graftax.optimizers.engine.learning_rate import LearningRate
from graftax.optimizers.engine.options import Options
from graftax.optimizers.engine.slot import Slot, SlotValues
from graftax.optimizers.engine.step import Step
from graftax.optimizers.optimizer import Optimizer
from graftax.variables.variable import Variable


class Adafactor(Optimizer):
    """RMSprop whose second moment of a matrix is kept as a row and a column, with steps relative to the variable.

    ``b = 1 - t**-decay_exponent`` and ``s = g**2 + epsilon_1``. For the last two axes of a matrix,
    ``r = b * r + (1 - b) * mean(s, -1);  c = b * c + (1 - b) * mean(s, -2);  v = r * c / mean(r)``; for a vector
    ``v = b * v + (1 - b) * s``. ``u = g / sqrt(v);  u = u / max(1, rms(u) / clip)``;
    ``w = w - max(epsilon_2, rms(w)) * min(rate, 1 / sqrt(t)) * u``. Keras computes the same; with its
    ``relative_step=False``, too, which is something else here. torch adds no epsilon_1 to the square and bounds v from
    below instead.

    Args:
        learning_rate: The largest relative step; 0.01 in the paper. See `Optimizer`. Defaults to 0.001, as in Keras.
        decay_exponent: How the average of squares lengthens with time, positive. Defaults to 0.8.
        epsilon_1: Added to the square. Defaults to 1e-30.
        epsilon_2: The least size that a variable counts as. Defaults to 1e-3.
        clip: Limit on the root mean square of a step. Defaults to 1.0.
        relative_step: False: the step is ``rate * u``, whatever the size of the variable and the time; Keras multiplies
            by both all the same. Defaults to True.
        **options: See `Optimizer`.

    Raises:
        ArgumentError: the exponent or the limit is not positive.

    Example:
        >>> import graftax as gx
        >>> w = gx.Variable([[1.0, -2.0]])
        >>> optimizer = Adafactor(0.5, relative_step=False)
        >>> optimizer.apply([[[3.0, -0.1]]], [w])
        >>> w.numpy().round(3).tolist(), optimizer.slot(w, "row").shape, optimizer.slot(w, "column").shape
        ([[0.5, -1.5]], (1, 1), (1, 2))

    Source: Shazeer and Stern, arXiv:1804.04235, algorithms 4 to 6.
    """

    arguments: ClassVar[Kinds] = {
        "decay_exponent": POSITIVE,
        "clip": POSITIVE,
        "epsilon_1": NOT_NEGATIVE,
        "epsilon_2": NOT_NEGATIVE,
        "relative_step": FLAG,
    }

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        decay_exponent: float = 0.8,
        epsilon_1: float = 1e-30,
        epsilon_2: float = 1e-3,
        clip: float = 1.0,
        relative_step: bool = True,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        self.decay_exponent = decay_exponent
        self.epsilon_1 = epsilon_1
        self.epsilon_2 = epsilon_2
        self.clip = clip
        self.relative_step = relative_step

    def create_slots(self, variable: Variable) -> Mapping[str, Slot]:
        """Declare a row and a column, in shapes that broadcast; the whole for vectors and scalars."""
        if variable.ndim < 2:
            return {"velocity": Slot()}
        *lead, rows, columns = variable.shape
        return {"row": Slot(shape=(*lead, rows, 1)), "column": Slot(shape=(*lead, 1, columns))}

    def update(self, gradient: Array, value: Array, slots: SlotValues, step: Step) -> tuple[Array, Mapping[str, Array]]:
        """Compute the new value of a variable, and of its slots."""
        kept = 1 - step.count**-self.decay_exponent
        square = gradient * gradient + self.epsilon_1
        if value.ndim < 2:
            velocity = kept * slots.velocity + (1 - kept) * square
            new, factor = {"velocity": velocity}, _inverse_root(velocity)
        else:
            row = kept * slots.row + (1 - kept) * ops.mean(square, axis=-1, keepdims=True)
            column = kept * slots.column + (1 - kept) * ops.mean(square, axis=-2, keepdims=True)
            new, share = (
                {"row": row, "column": column},
                row / _stop_small_gradients(ops.mean(row, axis=-2, keepdims=True)),
            )
            # the product of two that are epsilon_1 alone would be 0 in float32, that of their roots is not
            factor = _inverse_root(share) * _inverse_root(column)
        direction = gradient * factor
        direction = direction / ops.maximum(_rms(direction) / self.clip, 1.0)
        rate = step.learning_rate
        if self.relative_step:
            rate = ops.minimum(rate, ops.rsqrt(step.count)) * ops.maximum(_rms(value), self.epsilon_2)
        return value - rate * direction, new


def _stop_small_gradients(square: Array) -> Array:
    """Return the same, cut off from gradients where it is `epsilon_1` alone, at which slopes are beyond float32."""
    return ops.where(square > _LEAST, square, ops.stop_gradient(square))


def _inverse_root(square: Array) -> Array:
    return ops.rsqrt(_stop_small_gradients(ops.maximum(square, 1e-37)))  # above what becomes 0 in float32


_LEAST = 1e-18


def _rms(x: Array) -> Array:
    return root(ops.mean(x * x))
