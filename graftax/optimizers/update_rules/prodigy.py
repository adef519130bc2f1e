"""Prodigy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import ClassVar, Unpack

from graftax import ops
from graftax.core.typedefs import Array
from graftax.optimizers.arguments.kinds import AT_LEAST_ONE, FLAG, FRACTION, NOT_NEGATIVE, POSITIVE, Kinds
from graftax.optimizers.engine import learning_rate as rates
from graftax.optimizers.engine.arithmetic import bias_correction, divisor, moving_average
from graftax.optimizers.engine.averaging import slot_for
from graftax.optimizers.engine.learning_rate import LearningRate
from graftax.optimizers.engine.numbers import cast_to, is_plain, widest_dtype
from graftax.optimizers.engine.options import Options
from graftax.optimizers.engine.rule import RuleInput, RuleOutput, check_moving
from graftax.optimizers.engine.slot import Slot
from graftax.optimizers.engine.step import Step
from graftax.optimizers.engine.total import total
from graftax.optimizers.optimizer import Optimizer
from graftax.variables.variable import Variable


class Prodigy(Optimizer):
    """Adam that finds its rate: an estimate ``d``, which only grows, of how far away the solution is.

    With ``rate = d * learning_rate``, and ``w0`` for where a variable set out,
    ``m = beta_1 * m + (1 - beta_1) * d * g;  v = beta_2 * v + (1 - beta_2) * (d * g)**2`` and
    ``s = beta_3 * s + d / d0 * rate * g`` for each variable; over all of them
    ``r = beta_3 * r + d / d0 * rate * sum(g * (w0 - w))`` and ``d' = max(d, d_coef * r / sum|s|)``. Then, at the rate
    from before, ``w = w - rate * (m / (sqrt(v) + d' * epsilon) + weight_decay * w)``.

    The paper has ``d * epsilon``; the authors' program and optax have ``d'``, as here. Where all ``s`` are zero, ``d``
    stays. A schedule is a factor on the rate, best from 1; so is a multiplier, which also weighs what its variables say
    about ``d``. ``d`` and ``r`` are Variables, with those of the slots in a checkpoint.

    Args:
        learning_rate: A factor on the rate that is found; 1 unless a schedule lets it fall. Defaults to 1.0.
        beta_1: How much of the average of gradients is kept, in [0, 1). Defaults to 0.9.
        beta_2: How much of the average of squares is kept, in [0, 1). Defaults to 0.999.
        beta_3: How much of the sums is kept, in [0, 1). Defaults to ``sqrt(beta_2)``.
        epsilon: Added to the root, times ``d'``. Defaults to 1e-8.
        d0: The first estimate, in the units of the weights; far too small does no harm. Defaults to 1e-6.
        d_coef: A factor on the estimate, and the one number to tune. Defaults to 1.0.
        growth_rate: By which factor ``d`` grows at most in an update, but for the first time; at least 1. Defaults to
            infinity.
        safeguard_warmup: Whether ``s`` has ``d`` in place of ``rate``, for schedules that start near zero. Defaults to
            False.
        use_bias_correction: Whether the rate is multiplied by ``sqrt(1 - beta_2**t) / (1 - beta_1**t)`` at the t-th
            update, as optax always does and the authors do if asked to. Defaults to False.
        **options: See `Optimizer`.

    Raises:
        ArgumentError: a number is out of range.

    Example:
        >>> import graftax as gx
        >>> w = gx.Variable([3.0, -4.0])
        >>> prodigy = Prodigy()
        >>> losses = [float(prodigy.minimize(lambda: gx.ops.sum(w * w), [w])) for _ in range(60)]
        >>> losses[0], losses[-1] < 1.0, 0.1 < float(prodigy.d) < 10.0
        (25.0, True, True)

    Source: Mishchenko and Defazio, arXiv:2306.06101, algorithm 4.
    """

    decays_inside = True

    _gx_fixed: ClassVar[frozenset[str]] = frozenset({"d0"})

    arguments: ClassVar[Kinds] = {
        "beta_1": FRACTION,
        "beta_2": FRACTION,
        "epsilon": NOT_NEGATIVE,
        "beta_3": FRACTION.or_none(),
        "d0": POSITIVE,
        "d_coef": POSITIVE,
        "growth_rate": AT_LEAST_ONE,
        "safeguard_warmup": FLAG,
        "use_bias_correction": FLAG,
    }

    def __init__(
        self,
        learning_rate: LearningRate = 1.0,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        beta_3: float | None = None,
        epsilon: float = 1e-8,
        d0: float = 1e-6,
        d_coef: float = 1.0,
        growth_rate: float = inf,
        safeguard_warmup: bool = False,
        use_bias_correction: bool = False,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.beta_3 = beta_3
        self.epsilon = epsilon
        self.d0 = d0
        self.d_coef = d_coef
        self.growth_rate = growth_rate
        self.safeguard_warmup = safeguard_warmup
        self.use_bias_correction = use_bias_correction
        self.d = rates.scalar(self, "d", "state", widest_dtype(), d0)
        self.largest_d = rates.scalar(self, "largest_d", "state", widest_dtype(), d0)
        self.numerator = rates.scalar(self, "numerator", "state", widest_dtype(), 0.0)

    def create_slots(self, variable: Variable) -> Mapping[str, Slot]:
        """Declare the two averages, the sum of gradients, and where the variable set out."""
        return {"momentum": Slot(), "velocity": Slot(), "gradient_sum": Slot(), "start": slot_for(variable)}

    def update_all(self, moving: Sequence[RuleInput]) -> Sequence[RuleOutput]:
        """Compute the new values of all variables, and of their slots."""
        check_moving(self, moving)
        gathered = [self._gather(one, cast_to(self.d.value, str(one.value.dtype))) for one in moving]
        self._estimate(
            self._total(progress for _, _, progress in gathered),
            self._total(ops.sum(ops.abs(slots["gradient_sum"])) for _, slots, _ in gathered),
        )
        moved = []
        for one, (rate, slots, _) in zip(moving, gathered, strict=True):
            root = divisor(slots["velocity"]) + self.epsilon * cast_to(self.d.value, str(one.value.dtype))
            direction = slots["momentum"] / root + one.step.weight_decay * one.value
            moved.append((one.value - rate * direction, slots))
        return moved

    def _gather(self, inputs: RuleInput, d: Array) -> tuple[Array, Mapping[str, Array], Array]:
        """Return the rate of a variable, its new slots, and how far it has come against its gradient."""
        rate, weight, scaled, slots = d * inputs.step.once(self._factor), d / self.d0, d * inputs.gradient, inputs.slots
        start = ops.where(inputs.step.iterations < 1, inputs.value, slots.start)  # values may have been loaded since
        new = {
            "momentum": moving_average(self.beta_1, slots.momentum, scaled),
            "velocity": moving_average(self.beta_2, slots.velocity, scaled * scaled),
            "gradient_sum": self._beta_3() * slots.gradient_sum
            + weight * (d if self.safeguard_warmup else rate) * inputs.gradient,
            "start": start,
        }
        return rate, new, weight * rate * ops.sum(inputs.gradient * (start - inputs.value))

    def _factor(self, step: Step) -> Array:
        """Return what the rate is beside ``d``."""
        if not self.use_bias_correction:
            return step.learning_rate
        first, second = (bias_correction(beta, step.count) for beta in (self.beta_1, self.beta_2))
        return step.learning_rate * ops.sqrt(second) / first

    def _beta_3(self) -> float:
        return self.beta_2**0.5 if self.beta_3 is None else self.beta_3

    def _estimate(self, progress: Array, denominator: Array) -> None:
        """Take one step's progress into the estimate of the distance."""
        d, known = self.d.value, denominator > 0
        self.numerator.assign(self._beta_3() * self.numerator.value + progress)
        found = ops.where(known, self.d_coef * self.numerator.value / ops.where(known, denominator, 1.0), d)
        self.largest_d.assign(ops.maximum(self.largest_d.value, found))
        if is_plain(self.growth_rate) and self.growth_rate == inf:  # a gradient times infinity would be nan
            self.d.assign(self.largest_d.value)
            return
        most = ops.where(ops.equal(d, self.d0), ops.maximum(d, found), d) * self.growth_rate
        self.d.assign(ops.minimum(self.largest_d.value, most))

    def _total(self, parts: Iterable[Array]) -> Array:
        return total([cast_to(part, self.d.dtype) for part in parts])
