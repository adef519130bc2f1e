"""Adam, and AMSGrad."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal, TypeAlias, Unpack

from graftax import ops
from graftax.core.typedefs import Array
from graftax.optimizers.arguments.kinds import FLAG, FRACTION, NOT_NEGATIVE, Kinds, choice_of
from graftax.optimizers.engine.arithmetic import bias_correction, divisor, moving_average
from graftax.optimizers.engine.learning_rate import LearningRate
from graftax.optimizers.engine.options import Options
from graftax.optimizers.engine.slot import Slot, SlotValues
from graftax.optimizers.engine.step import Step
from graftax.optimizers.optimizer import Optimizer
from graftax.variables.variable import Variable

EpsilonForm: TypeAlias = Literal["keras", "torch"]


class Adam(Optimizer):
    """Moving averages of the gradient and of its square, corrected for their start at zero.

    ``m = beta_1 * m + (1 - beta_1) * g;  v = beta_2 * v + (1 - beta_2) * g**2`` and, at the t-th update,
    ``w = w - rate * sqrt(1 - beta_2**t) / (1 - beta_1**t) * m / (sqrt(v) + epsilon)``.

    Args:
        learning_rate: See `Optimizer`. Defaults to 0.001.
        beta_1: How much of the average of gradients is kept, in [0, 1). Defaults to 0.9.
        beta_2: How much of the average of squares is kept, in [0, 1). Defaults to 0.999.
        epsilon: Added to the root. Defaults to 1e-7.
        amsgrad: Whether ``v`` is replaced by the largest there has been. Defaults to False.
        epsilon_form: ``"keras"``: epsilon is added to the root as above. ``"torch"`` (and optax): to the corrected root
            ``sqrt(v / (1 - beta_2**t))``, where the same number weighs less: 31 times less in the first update.
            Defaults to ``"keras"``.
        **options: See `Optimizer`.

    Raises:
        ArgumentError: a beta is outside [0, 1), or the form is unknown.

    Example:
        >>> import graftax as gx
        >>> w = gx.Variable([1.0, -2.0])
        >>> Adam(0.5).apply([[3.0, -0.1]], [w])  # the first step goes by the sign
        >>> w.numpy().round(3).tolist()
        [0.5, -1.5]

    Source: Kingma and Ba, arXiv:1412.6980; Reddi et al. (AMSGrad), arXiv:1904.09237.
    """

    elementwise = True

    arguments: ClassVar[Kinds] = {
        "beta_1": FRACTION,
        "beta_2": FRACTION,
        "epsilon": NOT_NEGATIVE,
        "amsgrad": FLAG,
        "epsilon_form": choice_of("keras", "torch"),
    }

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        amsgrad: bool = False,
        epsilon_form: EpsilonForm = "keras",
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon
        self.amsgrad = amsgrad
        self.epsilon_form = epsilon_form

    def create_slots(self, variable: Variable) -> Mapping[str, Slot]:
        """Declare the two averages; the largest square, too, for AMSGrad."""
        names = ("momentum", "velocity", "velocity_hat") if self.amsgrad else ("momentum", "velocity")
        return {name: Slot() for name in names}

    def update(self, gradient: Array, value: Array, slots: SlotValues, step: Step) -> tuple[Array, Mapping[str, Array]]:
        """Compute the new value of a variable, and of its slots."""
        rate, epsilon = step.once(self._rate_and_epsilon)
        momentum = moving_average(self.beta_1, slots.momentum, gradient)
        velocity = moving_average(self.beta_2, slots.velocity, gradient * gradient)
        new = {"momentum": momentum, "velocity": velocity}
        if self.amsgrad:
            new["velocity_hat"] = velocity = ops.maximum(slots.velocity_hat, velocity)
        return value - rate * momentum / (divisor(velocity) + epsilon), new

    def _rate_and_epsilon(self, step: Step) -> tuple[Array, Array | float]:
        root = ops.sqrt(bias_correction(self.beta_2, step.count))
        epsilon = self.epsilon * root if self.epsilon_form == "torch" else self.epsilon
        return step.learning_rate * root / bias_correction(self.beta_1, step.count), epsilon
