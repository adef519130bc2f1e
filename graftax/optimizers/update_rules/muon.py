"""Muon."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Literal, Unpack

from graftax import ops
from graftax.core.errors import ArgumentTypeError
from graftax.core.selectors import SelectorLike
from graftax.core.typedefs import Array
from graftax.optimizers.arguments.kinds import COUNT, FLAG, FRACTION, NOT_NEGATIVE, Kinds, choice_of
from graftax.optimizers.engine.arithmetic import bias_correction, divisor, moving_average, norm
from graftax.optimizers.engine.learning_rate import LearningRate
from graftax.optimizers.engine.options import Options
from graftax.optimizers.engine.settings import Rules, Settings
from graftax.optimizers.engine.slot import Slot, SlotValues
from graftax.optimizers.engine.sparse_rows import TouchedRows
from graftax.optimizers.engine.step import Step
from graftax.optimizers.engine.update import Update
from graftax.optimizers.optimizer import Optimizer
from graftax.variables.graph.trained_model import TrainedModel
from graftax.variables.variable import Variable


class Muon(Optimizer):
    """Momentum made orthogonal for the matrices inside of a net; AdamW for everything else.

    For a matrix, ``m = momentum * m + (1 - momentum) * g;  u = orthogonal(momentum * m + (1 - momentum) * g)`` and
    ``w = w - rate * scale * u``. `newton_schulz` makes it orthogonal, here in the dtype of the update (torch: in
    bfloat16). A kernel of more than two axes counts as the matrix (all but the last, last).

    Kernels here are (in, out), transposed to torch's: ``scale`` is ``sqrt(max(1, out / in))`` for ``"shape"``, torch's
    "original", and ``0.2 * sqrt(max(in, out))`` for ``"adamw"``, which makes steps as long as AdamW's so that one rate
    fits both. Vectors and scalars, and what ``adamw`` selects, take `AdamW`'s step with ``epsilon`` at the corrected
    root. Embeddings and the last layer belong there, as only their names tell them from a matrix inside.

    Args:
        learning_rate: See `Optimizer`; ``rules`` can scale the rate of the others. Defaults to 0.001.
        momentum: How much of the average is kept, in [0, 1). Defaults to 0.95.
        nesterov: False: the average itself is made orthogonal. Defaults to True.
        adamw: Selectors of the matrices that are not Muon's, such as ``("**/embeddings", "head/**")``; each must select
            something. Defaults to ``()``.
        scale: ``"adamw"`` or ``"shape"``, as above. Defaults to ``"adamw"``.
        steps: How many times Newton and Schulz go round. Defaults to 5.
        beta_1: As in `AdamW`, for the others. Defaults to 0.9.
        beta_2: As in `AdamW`, for the others. Defaults to 0.999.
        epsilon: As in `AdamW`, for the others. Defaults to 1e-7.
        **options: See `Optimizer`.

    Raises:
        ArgumentError: a fraction is outside [0, 1), or the scale is unknown.
        SelectorError: an ``adamw`` selects nothing.

    Example:
        >>> import graftax as gx
        >>> w = gx.Variable([[1.0, 0.0], [0.0, 1.0]])
        >>> Muon(0.5, scale="shape", steps=20).apply([[[3.0, 0.0], [0.0, 0.1]]], [w])
        >>> bool(w.numpy()[0, 0] < 0.7), bool(w.numpy()[1, 1] < 0.7)  # both by about as much
        (True, True)

    Source: Jordan et al. 2024, "Muon: an optimizer for hidden layers"; Liu et al. (the scale), arXiv:2502.16982.
    """

    untracked: ClassVar[frozenset[str]] = Optimizer.untracked | {"_others"}
    _gx_fixed: ClassVar[frozenset[str]] = frozenset({"adamw"})

    arguments: ClassVar[Kinds] = {
        "momentum": FRACTION,
        "beta_1": FRACTION,
        "beta_2": FRACTION,
        "epsilon": NOT_NEGATIVE,
        "nesterov": FLAG,
        "steps": COUNT,
        "scale": choice_of("adamw", "shape"),
    }

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        momentum: float = 0.95,
        nesterov: bool = True,
        adamw: Sequence[SelectorLike] = (),
        scale: Literal["adamw", "shape"] = "adamw",
        steps: int = 5,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        if isinstance(adamw, str):
            raise ArgumentTypeError(
                f"adamw={adamw!r}", "it holds selectors, and a string is one of them", f"adamw=({adamw!r},)"
            )
        if not isinstance(adamw, Iterable) or hasattr(adamw, "shape"):
            raise ArgumentTypeError(
                f"adamw={adamw!r:.60}", "it is a sequence of selectors", 'adamw=("**/embeddings", "head/**")'
            )
        self.momentum = momentum
        self.nesterov = nesterov
        self.adamw = tuple(adamw)
        self.scale = scale
        self.steps = steps
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon
        self._others = Rules([(selector, {}) for selector in self.adamw], sets_nothing=True)

    def create_slots(self, variable: Variable) -> Mapping[str, Slot]:
        """Declare the average; that of squares, too, for what goes by AdamW."""
        others = variable.ndim < 2 or self._gx_settings(variable).is_second
        return {name: Slot() for name in (("momentum", "velocity") if others else ("momentum",))}

    def _gx_settings_at(self, variable: Variable, paths: Sequence[str]) -> Settings:
        is_second = bool(self._others.settings(variable, paths).by)
        return replace(super()._gx_settings_at(variable, paths), is_second=is_second)

    def _gx_update_for(
        self,
        variable: Variable,
        gradient: object = None,
        rows: TouchedRows | None = None,
        settings: Settings | None = None,
    ) -> Update:
        update = super()._gx_update_for(variable, gradient, rows, settings)
        if "velocity" in update.slots and "velocity" not in self.create_slots(variable):  # of a model trained before
            update.slots = {name: slot for name, slot in update.slots.items() if name != "velocity"}
        return update

    def _gx_suits(self, model: TrainedModel) -> bool:
        return self._others.suits(model) and super()._gx_suits(model)

    def _gx_has_rules(self) -> bool:
        return bool(self.adamw) or super()._gx_has_rules()

    def _gx_check_rules(self, variables: Iterable[Variable]) -> None:
        self._others.check(variables)
        super()._gx_check_rules(variables)

    def update(self, gradient: Array, value: Array, slots: SlotValues, step: Step) -> tuple[Array, Mapping[str, Array]]:
        """Compute the new value of a variable, and of its slots."""
        if "velocity" in vars(slots):
            return self._adamw_step(gradient, value, slots, step)
        momentum = moving_average(self.momentum, slots.momentum, gradient)
        ahead = moving_average(self.momentum, momentum, gradient) if self.nesterov else momentum
        matrix = ops.reshape(ahead, (-1, value.shape[-1]))
        rows, columns = matrix.shape
        scale = max(1, columns / rows) ** 0.5 if self.scale == "shape" else 0.2 * max(rows, columns) ** 0.5
        direction = ops.reshape(newton_schulz(matrix, self.steps), value.shape)
        return value - step.learning_rate * scale * direction, {"momentum": momentum}

    def _adamw_step(
        self, gradient: Array, value: Array, slots: SlotValues, step: Step
    ) -> tuple[Array, Mapping[str, Array]]:
        momentum = moving_average(self.beta_1, slots.momentum, gradient)
        velocity = moving_average(self.beta_2, slots.velocity, gradient * gradient)
        corrected = momentum / bias_correction(self.beta_1, step.count)
        root = divisor(velocity / bias_correction(self.beta_2, step.count))
        moved = value - step.learning_rate * corrected / (root + self.epsilon)
        return moved, {"momentum": momentum, "velocity": velocity}


def newton_schulz(matrix: Array, steps: int = 5) -> Array:
    """Compute about ``u @ vh`` of the singular value decomposition: singular values end between 0.7 and 1.2.

    ``x = g / |g|``, then ``x = 3.4445 * x - 4.7750 * (x x') x + 2.0315 * (x x')**2 x`` over and over.
    """
    tall = matrix.shape[0] > matrix.shape[1]
    x = ops.transpose(matrix) if tall else matrix
    x = x / (norm(x) + 1e-7)
    for _ in range(steps):
        square = ops.matmul(x, ops.transpose(x))
        x = 3.4445 * x + ops.matmul(-4.7750 * square + 2.0315 * ops.matmul(square, square), x)
    return ops.transpose(x) if tall else x
