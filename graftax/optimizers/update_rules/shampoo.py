"""Shampoo."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal, Unpack

from graftax import ops
from graftax.core.typedefs import Array
from graftax.optimizers.arguments.kinds import COUNT, PART, POSITIVE, Kinds, choice_of
from graftax.optimizers.engine.arithmetic import norm
from graftax.optimizers.engine.learning_rate import LearningRate
from graftax.optimizers.engine.matrix_power import damped_power
from graftax.optimizers.engine.numbers import is_plain
from graftax.optimizers.engine.options import Options
from graftax.optimizers.engine.slot import Slot, SlotValues
from graftax.optimizers.engine.step import Step
from graftax.optimizers.optimizer import Optimizer
from graftax.transforms.flow.branches import cond
from graftax.variables.variable import Variable


class Shampoo(Optimizer):
    """The gradient, whitened along each axis by a matrix of what gradients have been.

    For a matrix, ``L = L + g g';  R = R + g' g`` and ``w = w - rate * L**(-1/4) g R**(-1/4)``. For k axes, each has a
    matrix ``H_i`` of the gradient unfolded along it, and ``w = w - rate * g x_1 H_1**(-1/2k) ... x_k H_k**(-1/2k)``: a
    vector takes full-matrix Adagrad, a scalar Adagrad. ``epsilon`` times the identity is added to each matrix (the
    paper starts with it). Roots are computed through `ops.eigh`, in float32 for float32. A derivative through updates,
    backwards or forwards, is a number where eigenvalues are equal, too.

    Args:
        learning_rate: See `Optimizer`. Defaults to 0.01.
        epsilon: Added to the eigenvalues, positive. Defaults to 1e-4.
        decay: How much of the matrices is kept; 1 for the paper's sums, less for ``decay * H + (1 - decay) * g g'``.
            Defaults to 1.0.
        update_every: Updates between two computations of the roots, the expensive part; the first has its own. Defaults
            to 1.
        largest: Axes longer than this keep only the diagonal of their matrix. Defaults to 1024.
        graft: ``"sgd"``: the direction is Shampoo's and the length that of the gradient; ``"adagrad"``: that of
            Adagrad's step, ``g / sqrt(sum(g**2) + epsilon)``; None: Shampoo's.
        **options: See `Optimizer`.

    Raises:
        ArgumentError: a number is out of range, or the graft is unknown.

    Example:
        >>> import graftax as gx
        >>> w = gx.Variable([[1.0, 0.0], [0.0, 1.0]])
        >>> optimizer = Shampoo(0.5)
        >>> optimizer.apply([[[4.0, 0.0], [0.0, 0.1]]], [w])
        >>> w.numpy().round(2).tolist()  # both by about as much
        [[0.5, 0.0], [0.0, 0.5]]

    Source: Gupta et al., arXiv:1802.09568, algorithms 1 and 2; Anil et al. (grafting, rare roots), arXiv:2002.09018.
    """

    _gx_settled: ClassVar[frozenset[str]] = frozenset({"largest"})

    arguments: ClassVar[Kinds] = {
        "epsilon": POSITIVE,
        "decay": PART,
        "update_every": COUNT,
        "largest": COUNT,
        "graft": choice_of("sgd", "adagrad").or_none(),
    }

    def __init__(
        self,
        learning_rate: LearningRate = 0.01,
        epsilon: float = 1e-4,
        decay: float = 1.0,
        update_every: int = 1,
        largest: int = 1024,
        graft: Literal["sgd", "adagrad"] | None = None,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        self.epsilon = epsilon
        self.decay = decay
        self.update_every = update_every
        self.largest = largest
        self.graft = graft

    def create_slots(self, variable: Variable) -> Mapping[str, Slot]:
        """Declare for each axis its matrix and the root of it, or the diagonals; the squares for Adagrad's length."""
        sizes = variable.shape or (1,)
        shapes = [(size, size) if size <= self.largest else (size,) for size in sizes]
        slots = {f"{name}_{axis}": Slot(shape=shape) for axis, shape in enumerate(shapes) for name in ("sum", "root")}
        return slots | ({"squares": Slot()} if self.graft == "adagrad" else {})

    def update(self, gradient: Array, value: Array, slots: SlotValues, step: Step) -> tuple[Array, Mapping[str, Array]]:
        """Compute the new value of a variable, and of its slots."""
        direction = unfolded = ops.reshape(gradient, value.shape or (1,))
        new: dict[str, Array] = {}
        decay = self.decay
        share = (1.0 if decay == 1 else 1 - decay) if is_plain(decay) else ops.where(ops.equal(decay, 1), 1, 1 - decay)
        for axis in range(unfolded.ndim):
            before, root = getattr(slots, f"sum_{axis}"), getattr(slots, f"root_{axis}")
            others = [other for other in range(unfolded.ndim) if other != axis]
            full = before.ndim == 2
            squares = ops.tensordot(unfolded, unfolded, (others, others)) if full else ops.sum(unfolded**2, others)
            after = self.decay * before + share * squares
            due = ops.logical_or(ops.equal(step.iterations % self.update_every, 0), ops.all(ops.equal(before, 0)))
            power = -0.5 / unfolded.ndim
            root = cond(due, lambda h, _, p=power: self._power(h, p), lambda _, r: r, after, root)
            last = ops.moveaxis(direction, axis, -1)
            direction = ops.moveaxis(ops.matmul(last, root) if full else last * root, -1, axis)
            new |= {f"sum_{axis}": after, f"root_{axis}": root}
        direction = ops.reshape(direction, value.shape)
        if self.graft is not None:
            other = gradient
            if self.graft == "adagrad":
                new["squares"] = slots.squares + gradient * gradient
                other = gradient * ops.rsqrt(new["squares"] + self.epsilon)
            length = norm(direction)
            direction = direction * (norm(other) / ops.where(length > 1e-30, length, 1))
        return value - step.learning_rate * direction, new

    def _power(self, matrix: Array, power: float) -> Array:
        """Compute ``(matrix + epsilon)**power``, for a matrix or its diagonal."""
        if matrix.ndim == 1:
            return (matrix + self.epsilon) ** power
        return damped_power(matrix, self.epsilon, power)
