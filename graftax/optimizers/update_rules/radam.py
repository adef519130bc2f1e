"""RAdam: Adam whose first steps, of which too little is known, are not adaptive."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Unpack

from graftax import ops
from graftax.core.typedefs import Array
from graftax.optimizers.arguments.kinds import ABOVE_06, AT_LEAST_FOUR, FRACTION, NOT_NEGATIVE, Kinds, choice_of
from graftax.optimizers.engine.arithmetic import bias_correction, divisor, log, moving_average
from graftax.optimizers.engine.learning_rate import LearningRate
from graftax.optimizers.engine.options import Options
from graftax.optimizers.engine.slot import Slot, SlotValues
from graftax.optimizers.engine.step import Step
from graftax.optimizers.optimizer import Optimizer
from graftax.variables.variable import Variable


class RAdam(Optimizer):
    """Adam times a factor that grows with what is known of the squares; plain momentum while that is too little.

    ``m`` and ``v`` as in Adam. With ``last = 2 / (1 - beta_2) - 1`` and ``length = last - 2 * t * beta_2**t / (1 -
    beta_2**t)`` the step is ``rate * m / (1 - beta_1**t)``, and where ``length > threshold`` times ``rectified /
    (sqrt(v / (1 - beta_2**t)) + epsilon)``, ``rectified = sqrt((length - 4) * (length - 2) * last / ((last - 4) * (last
    - 2) * length))``.

    Args:
        learning_rate: See `Optimizer`. Defaults to 0.001.
        beta_1: How much of the average of gradients is kept, in [0, 1). Defaults to 0.9.
        beta_2: How much of the average of squares is kept, in (0.6, 1): below, there are never enough of them. Defaults
            to 0.999.
        epsilon: Added to the root. Defaults to 1e-8.
        threshold: Length of the average of squares above which it is used, at least 4. Defaults to 5.0.
        epsilon_form: ``"torch"``: epsilon is added to the root as it is. ``"optax"``: to the corrected root, as above.
            Defaults to ``"torch"``.
        **options: See `Optimizer`.

    Raises:
        ArgumentError: a beta or the threshold is outside its range, or the form is unknown.

    Example:
        >>> import graftax as gx
        >>> w = gx.Variable([1.0, -2.0])
        >>> RAdam(0.5).apply([[1.0, -2.0]], [w])  # the first steps are proportional to the gradient
        >>> w.numpy().round(3).tolist()
        [0.5, -1.0]

    Source: Liu et al., arXiv:1908.03265.
    """

    elementwise = True

    arguments: ClassVar[Kinds] = {
        "beta_1": FRACTION,
        "beta_2": ABOVE_06,
        "epsilon": NOT_NEGATIVE,
        "threshold": AT_LEAST_FOUR,
        "epsilon_form": choice_of("torch", "optax"),
    }

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-8,
        threshold: float = 5.0,
        epsilon_form: Literal["torch", "optax"] = "torch",
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon
        self.threshold = threshold
        self.epsilon_form = epsilon_form

    def create_slots(self, variable: Variable) -> Mapping[str, Slot]:
        """Declare the two averages."""
        return {"momentum": Slot(), "velocity": Slot()}

    def update(self, gradient: Array, value: Array, slots: SlotValues, step: Step) -> tuple[Array, Mapping[str, Array]]:
        """Compute the new value of a variable, and of its slots."""
        known, rate, rectified, epsilon = step.once(self._rectification)
        momentum = moving_average(self.beta_1, slots.momentum, gradient)
        velocity = moving_average(self.beta_2, slots.velocity, gradient * gradient)
        move = rate * momentum
        adaptive = move * rectified / (divisor(velocity) + epsilon)
        return value - ops.where(known, adaptive, move), {"momentum": momentum, "velocity": velocity}

    def _rectification(self, step: Step) -> tuple[Array, Array, Array, Array | float]:
        t = step.count
        root = ops.sqrt(bias_correction(self.beta_2, t))
        last = 2 / (1 - self.beta_2) - 1
        length = _length(-log(self.beta_2), t)
        ratio = (length - 4) * (length - 2) * last / ((last - 4) * (last - 2) * length)
        epsilon = self.epsilon if self.epsilon_form == "torch" else self.epsilon * root
        rate = step.learning_rate / bias_correction(self.beta_1, t)
        known = length > self.threshold
        return known, rate, ops.sqrt(ops.where(known, ratio, 1.0)) * root, epsilon  # a root has no slope at 0


def _length(decay: Any, t: Array) -> Array:
    """Return ``last - 2 * t * beta_2**t / (1 - beta_2**t)``, with ``decay = -log(beta_2)``, to rounding.

    As it stands, two numbers of about ``2 / decay`` leave one of about ``t``, which float32 loses for a beta_2 near 1.
    With ``L(z) = coth(z / 2) - 2 / z`` it is ``L(decay) + t * (1 - L(decay * t))``.
    """
    z = decay * t
    above = ops.maximum(z, 1.0)
    far = 2 / above + 2 * ops.exp(-above) / ops.expm1(-above)
    length: Array = _langevin(decay) + t * ops.where(z < 1, 1 - _langevin(ops.minimum(z, 1.0)), far)
    return length


def _langevin(z: Any) -> Any:
    """Return ``coth(z / 2) - 2 / z`` for z up to 1, by its series."""
    square = z * z
    return z * (1 / 6 - square * (1 / 360 - square * (1 / 15120 - square * (1 / 604800 - square / 23950080))))
