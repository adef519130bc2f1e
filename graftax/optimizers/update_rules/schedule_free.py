"""SGD and AdamW without a schedule: gradients are taken between a fast sequence and its average."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar, Literal, Unpack

from graftax import ops
from graftax.core.errors import ArgumentError
from graftax.core.typedefs import Array
from graftax.core.undefined import undefined_error
from graftax.optimizers.arguments.kinds import FRACTION, NOT_NEGATIVE, PART, WHOLE, Kinds, choice_of
from graftax.optimizers.engine import learning_rate as rates
from graftax.optimizers.engine.arithmetic import bias_correction, divisor, moving_average
from graftax.optimizers.engine.averaging import slot_for, two_averages
from graftax.optimizers.engine.learning_rate import LearningRate
from graftax.optimizers.engine.numbers import cast_to, widest_dtype
from graftax.optimizers.engine.options import Options
from graftax.optimizers.engine.slot import Slot, SlotValues
from graftax.optimizers.engine.step import Step
from graftax.optimizers.engine.update import Update
from graftax.optimizers.optimizer import Optimizer
from graftax.variables.variable import Variable


class ScheduleFree(Optimizer):
    """What both rules share: which sequence is where, and how much each update counts in the average."""

    elementwise = True
    decays_inside = True
    averages_itself = True

    _gx_settled: ClassVar[frozenset[str]] = frozenset({"beta_1"})

    arguments: ClassVar[Kinds] = {"warmup_steps": WHOLE, "beta_1": PART, "weight_lr_power": NOT_NEGATIVE}

    def __init__(
        self,
        learning_rate: LearningRate,
        warmup_steps: int,
        beta_1: float,
        weight_lr_power: float,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        self._check_options()
        self.warmup_steps = warmup_steps
        self.beta_1 = beta_1
        self.weight_lr_power = weight_lr_power
        self.largest_rate = rates.scalar(self, "largest_rate", "counter", widest_dtype(), 0.0)
        self.weight_sum = rates.scalar(self, "weight_sum", "counter", widest_dtype(), 0.0)

    def create_slots(self, variable: Variable) -> Mapping[str, Slot]:
        """Declare the fast sequence, which starts as the value."""
        return {"z": slot_for(variable)}

    def _check_options(self) -> None:
        if self.ema_momentum is not None:
            raise two_averages(self)
        if self.lazy:
            raise ArgumentError(
                f"{type(self).__name__}(lazy=True)",
                "rows that stay behind would hardly take part in the average",
                'rules=[("**/embeddings", {"optimizer": graftax.optimizers.Adam(lazy=True)})]',
            )

    def _gx_make_slots(self, variable: Variable, only: str | None = None) -> None:
        self._check_options()  # again, as they may have been set since
        if variable.constraint is not None and self._gx_rule_of(variable) is self:
            raise ArgumentError(
                f"{type(self).__name__} got the variable {variable.path!r} with a constraint",
                "the average is what counts in the end, and it would not hold for that",
                f'rules=[({variable.path!r}, {{"optimizer": graftax.optimizers.AdamW()}})], or no constraint',
            )
        super()._gx_make_slots(variable, only)

    def _gx_update(self, updates: list[Update], left: dict[int, list[Update]] | None = None) -> None:
        iterations = self.iterations.value
        dtype = self.largest_rate.dtype
        rate = rates.current(self.__dict__["learning_rate"], iterations, dtype)
        rate = self._warm_up(rate, cast_to(iterations + 1, dtype))  # without multipliers, which would cancel
        self.largest_rate.assign(ops.maximum(self.largest_rate.value, rate))
        self.weight_sum.assign_add(self.largest_rate.value**self.weight_lr_power)
        for variable, state in self._gx_slots.items():
            if "z" in state.slots and not variable.trainable:  # the rest learns beside its value, not the average
                self._set_out(variable, state.slots["z"])
        super()._gx_update(updates, left)

    def update(self, gradient: Array, value: Array, slots: SlotValues, step: Step) -> tuple[Array, Mapping[str, Array]]:
        """Compute the new value of a variable, and of its slots."""
        rate, share = step.once(self._rate_and_share)
        z = ops.where(step.iterations < 1, value, slots.z)  # values may have been loaded since the slot was made
        direction, kept = self._direction(gradient, slots, step)
        direction = direction + step.weight_decay * value
        moved = value + share * (z - value) - rate * (1 - self.beta_1 * (1 - share)) * direction
        return moved, {"z": z - rate * direction, **kept}

    def _rate_and_share(self, step: Step) -> tuple[Array, Array]:
        """Return the rate after warm-up; what part of the average the newest of the fast sequence is."""
        weight, total = self.largest_rate.value**self.weight_lr_power, self.weight_sum.value
        share = ops.where(total > 0, weight / ops.where(total > 0, total, 1.0), 1.0)
        rate = step.learning_rate
        return self._warm_up(rate, step.count), cast_to(share, str(rate.dtype))

    def _warm_up(self, rate: Array, count: Array) -> Array:
        return rate * ops.minimum(count / self.warmup_steps, 1.0) if self.warmup_steps else rate

    def _direction(self, gradient: Array, slots: SlotValues, step: Step) -> tuple[Array, Mapping[str, Array]]:
        """Return where the fast sequence goes, and new values of other slots."""
        raise undefined_error(self, "_direction(gradient, slots, step)")

    def _gx_own_averages(self) -> Iterator[tuple[Variable, Array]]:
        for variable, state in self._gx_slots.items():
            if "z" in state.slots:
                z = state.slots["z"].value
                y = cast_to(variable._gx_stored, state.slots["z"].dtype)
                x = cast_to(y + (1 / self.beta_1 - 1) * (y - z), variable.dtype)
                yield variable, ops.where(ops.equal(self.iterations, 0), variable._gx_stored, x)

    def _gx_averages_assigned(self) -> None:
        for variable, state in self._gx_slots.items():
            if "z" in state.slots:  # else what is the average now would be taken for a mixture, and left again
                self._set_out(variable, state.slots["z"])
        super()._gx_averages_assigned()

    def _set_out(self, variable: Variable, z: Variable) -> None:
        """Let the fast sequence, and so the average, be where the variable is."""
        z.assign(ops.stop_gradient(cast_to(variable._gx_stored, z.dtype)))


class ScheduleFreeSGD(ScheduleFree):
    """Stochastic gradient descent whose average is evaluated, with gradients from near the average.

    The weights in training are ``y``, the slot is ``z``, which starts as ``y``, and ``x`` is their average, computed
    when it is asked for: ``z' = z - rate * (g + weight_decay * y)``, ``x' = (1 - c) * x + c * z'`` and ``y' = beta_1 *
    x' + (1 - beta_1) * z'``, where ``g`` is the gradient at ``y`` and ``c = r / (sum of r so far)`` with ``r =
    (largest rate so far)**weight_lr_power``. It needs no schedule that falls, and no end that is known before.

    ``with optimizer.averaged():`` puts ``x`` in place, to evaluate, predict or save, and `assign_averages` leaves it
    there; `Model.fit` validates ``y``, as it does beside `ema_momentum`, which is refused here. Averages that layers
    keep (batch normalization) are those at ``y``. A variable that comes later joins the average as if it had stood at
    its first value until then. The average of one that is frozen is its value, from the next update on, and it goes on
    from there when it is trained again. Constraints and ``lazy`` are refused.

    Args:
        learning_rate: See `Optimizer`; larger than with a schedule, as in optax. Defaults to 1.0.
        warmup_steps: Updates over which the rate grows in a straight line; the first has ``1 / warmup_steps`` of it.
            Defaults to 0.
        beta_1: What part of ``y`` is the average, in (0, 1]; the same all along, as ``x`` is found by it. Defaults to
            0.9.
        weight_lr_power: How much the updates of the warm-up count less: 2 in the paper, 0 for not at all. Defaults to
            2.0.
        **options: See `Optimizer`; ``weight_decay`` is taken at ``y``.

    Raises:
        ArgumentError: a number is out of range; averages that the base class keeps, ``lazy`` or a constraint.

    Example:
        >>> import graftax as gx
        >>> w = gx.Variable([0.0])
        >>> optimizer = ScheduleFreeSGD(1.0, beta_1=0.5)
        >>> for _ in range(3):
        ...     optimizer.apply([[-1.0]], [w])  # z is 1, 2, 3
        >>> with optimizer.averaged():
        ...     w.numpy().tolist()
        [2.0]
        >>> w.numpy().tolist()
        [2.5]

    Source: Defazio et al., The road less scheduled, arXiv:2405.15682.
    """

    def __init__(
        self,
        learning_rate: LearningRate = 1.0,
        warmup_steps: int = 0,
        beta_1: float = 0.9,
        weight_lr_power: float = 2.0,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, warmup_steps, beta_1, weight_lr_power, **options)

    def _direction(self, gradient: Array, slots: SlotValues, step: Step) -> tuple[Array, Mapping[str, Array]]:
        return gradient, {}


class ScheduleFreeAdamW(ScheduleFree):
    """AdamW whose average is evaluated: `ScheduleFreeSGD` along ``g / root`` in place of ``g``, without momentum.

    ``v = beta_2 * v + (1 - beta_2) * g**2``, and at the t-th update ``root = sqrt(v / (1 - beta_2**t)) + epsilon`` with
    the correction in the root: so in the authors' program, in optax and in Keras, whose weights of the average are all
    equal, as ``weight_lr_power=0``. In the paper the correction is a factor ``sqrt(1 - beta_2**t)`` on the rate, and so
    on decay and on the weights of the average, too, and ``root = sqrt(v) + epsilon``.

    Args:
        learning_rate: See `Optimizer`. Defaults to 0.0025.
        warmup_steps: See `ScheduleFreeSGD`. Defaults to 0.
        beta_1: See `ScheduleFreeSGD`. Defaults to 0.9.
        beta_2: How much of the average of squares is kept, in [0, 1). Defaults to 0.999.
        epsilon: Added to the root. Defaults to 1e-8.
        correction: ``"root"`` or ``"rate"``, the paper's, as above. Defaults to ``"root"``.
        weight_lr_power: See `ScheduleFreeSGD`. Defaults to 2.0.
        **options: See `Optimizer`; ``weight_decay`` is taken at ``y``.

    Raises:
        ArgumentError: as for `ScheduleFreeSGD`; the correction is unknown.

    Example:
        >>> import graftax as gx
        >>> w = gx.Variable([1.0, -2.0])
        >>> optimizer = ScheduleFreeAdamW(0.5)
        >>> optimizer.apply([[3.0, -0.1]], [w])  # the first step goes by the sign
        >>> w.numpy().round(3).tolist()
        [0.5, -1.5]

    Source: Defazio et al., The road less scheduled, arXiv:2405.15682, algorithm 1.
    """

    arguments: ClassVar[Kinds] = {"beta_2": FRACTION, "epsilon": NOT_NEGATIVE, "correction": choice_of("root", "rate")}

    def __init__(
        self,
        learning_rate: LearningRate = 0.0025,
        warmup_steps: int = 0,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-8,
        correction: Literal["root", "rate"] = "root",
        weight_lr_power: float = 2.0,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, warmup_steps, beta_1, weight_lr_power, **options)
        self.beta_2 = beta_2
        self.epsilon = epsilon
        self.correction = correction

    def create_slots(self, variable: Variable) -> Mapping[str, Slot]:
        """Declare the fast sequence, and the average of squares."""
        return {**super().create_slots(variable), "velocity": Slot()}

    def _warm_up(self, rate: Array, count: Array) -> Array:
        rate = super()._warm_up(rate, count)
        return rate * ops.sqrt(bias_correction(self.beta_2, count)) if self.correction == "rate" else rate

    def _direction(self, gradient: Array, slots: SlotValues, step: Step) -> tuple[Array, Mapping[str, Array]]:
        velocity = moving_average(self.beta_2, slots.velocity, gradient * gradient)
        square = velocity / bias_correction(self.beta_2, step.count) if self.correction == "root" else velocity
        return gradient / (divisor(square) + self.epsilon), {"velocity": velocity}
