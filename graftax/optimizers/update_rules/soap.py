"""SOAP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Unpack

from graftax import ops
from graftax.core.typedefs import Array
from graftax.optimizers.arguments.kinds import COUNT, FRACTION, POSITIVE, Kinds
from graftax.optimizers.engine.arithmetic import bias_correction, moving_average
from graftax.optimizers.engine.learning_rate import LearningRate
from graftax.optimizers.engine.options import Options
from graftax.optimizers.engine.slot import Slot, SlotValues
from graftax.optimizers.engine.step import Step
from graftax.optimizers.optimizer import Optimizer
from graftax.transforms.flow.branches import cond
from graftax.variables.variable import Variable


class SOAP(Optimizer):
    """Adam in the eigenbasis of Shampoo's matrices.

    For a matrix, ``m = beta_1 * m + (1 - beta_1) * g``, and with orthogonal ``P`` and ``Q``
    ``g' = P' g Q;  v = beta_2 * v + (1 - beta_2) * g'**2``; then, with ``m`` and ``v`` corrected for their start as in
    `Adam`, ``w = w - rate * P (P' m Q / sqrt(v + epsilon)) Q'``. Afterwards ``L = beta_2 * L + (1 - beta_2) * g g'``,
    ``R = beta_2 * R + (1 - beta_2) * g' g`` and, every ``update_every`` updates, ``P = qr(L P)`` and ``Q = qr(R Q)``.

    At first the bases are the eigenvectors for the first gradient that is not zero, largest first, and already used
    with it; the authors' program spends its first step on that alone. A kernel of more than two axes counts as the
    matrix (all but the last, last). Vectors and scalars, and sides longer than ``largest``, are not turned: a vector
    takes Adam's step.

    A gradient that flows through updates takes the bases as constants: they have no derivative where eigenvalues are
    equal, as those of every gradient with more rows than columns are.

    Args:
        learning_rate: See `Optimizer`. Defaults to 0.003.
        beta_1: How much of the average of gradients is kept, in [0, 1). Defaults to 0.95.
        beta_2: How much of the averages of squares and of matrices is kept, in [0, 1). Defaults to 0.95.
        epsilon: Added to the square, below the root. Defaults to 1e-8.
        update_every: Updates between two turns of the bases. Defaults to 10.
        largest: Longer sides have no basis. Defaults to 10000.
        **options: See `Optimizer`; ``weight_decay`` is the paper's.

    Raises:
        ArgumentError: a beta is outside [0, 1), or a number is not positive.

    Example:
        >>> import graftax as gx
        >>> w = gx.Variable([[1.0, 1.0], [1.0, 1.0]])
        >>> optimizer = SOAP(0.5)
        >>> optimizer.apply([[[3.0, 3.0], [3.0, 3.0]]], [w])  # one direction: all go the same way
        >>> w.numpy().round(2).tolist(), optimizer.slot(w, "left").shape
        ([[0.75, 0.75], [0.75, 0.75]], (2, 2))

    Source: Vyas et al., arXiv:2409.11321, algorithms 3 and 4.
    """

    _gx_settled: ClassVar[frozenset[str]] = frozenset({"largest"})

    arguments: ClassVar[Kinds] = {
        "beta_1": FRACTION,
        "beta_2": FRACTION,
        "epsilon": POSITIVE,
        "update_every": COUNT,
        "largest": COUNT,
    }

    def __init__(
        self,
        learning_rate: LearningRate = 0.003,
        beta_1: float = 0.95,
        beta_2: float = 0.95,
        epsilon: float = 1e-8,
        update_every: int = 10,
        largest: int = 10000,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon
        self.update_every = update_every
        self.largest = largest

    def create_slots(self, variable: Variable) -> Mapping[str, Slot]:
        """Declare the two averages, that of squares in the basis; for each side its matrix and its basis."""
        slots = {"momentum": Slot(), "velocity": Slot()}
        if variable.ndim >= 2:
            columns = variable.shape[-1]
            for side, size in (("left", variable.size // max(columns, 1)), ("right", columns)):
                if size <= self.largest:
                    slots |= {side: Slot(shape=(size, size)), f"{side}_basis": Slot(shape=(size, size))}
        return slots

    def update(self, gradient: Array, value: Array, slots: SlotValues, step: Step) -> tuple[Array, Mapping[str, Array]]:
        """Compute the new value of a variable, and of its slots."""
        shape = (-1, value.shape[-1]) if value.ndim >= 2 else (1, -1)
        g, velocity = ops.reshape(gradient, shape), ops.reshape(slots.velocity, shape)
        momentum = moving_average(self.beta_1, slots.momentum, gradient)
        new, bases = {"momentum": momentum}, {}
        for side, rows in (("left", g), ("right", ops.transpose(g))):
            if side in vars(slots):
                before, basis = getattr(slots, side), getattr(slots, f"{side}_basis")
                matrix = moving_average(self.beta_2, before, ops.matmul(rows, ops.transpose(rows)))
                told, kept = ops.stop_gradient(matrix), ops.stop_gradient(basis)
                unknown = ops.all(ops.equal(before, 0))
                bases[side] = cond(unknown, lambda a, _: ops.flip(ops.eigh(a)[1], 1), lambda _, b: b, told, kept)
                due = ops.equal((step.iterations + 1) % self.update_every, 0)
                turned = cond(due, lambda a, b: ops.qr(ops.matmul(a, b))[0], lambda _, b: b, told, bases[side])
                new |= {side: matrix, f"{side}_basis": turned}
        velocity = moving_average(self.beta_2, velocity, _turn(g, bases) ** 2)
        corrected = _turn(ops.reshape(momentum, shape), bases) / bias_correction(self.beta_1, step.count)
        direction = corrected / ops.sqrt(velocity / bias_correction(self.beta_2, step.count) + self.epsilon)
        back = _turn(direction, {side: ops.transpose(basis) for side, basis in bases.items()})
        new["velocity"] = ops.reshape(velocity, value.shape)
        return value - step.learning_rate * ops.reshape(back, value.shape), new


def _turn(matrix: Array, bases: Mapping[str, Array]) -> Array:
    """Compute ``left' matrix right``."""
    if "left" in bases:
        matrix = ops.matmul(ops.transpose(bases["left"]), matrix)
    return ops.matmul(matrix, bases["right"]) if "right" in bases else matrix
