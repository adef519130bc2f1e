"""Sophia."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Unpack

from graftax import ops
from graftax.core.short_traceback import door
from graftax.core.typedefs import Array
from graftax.core.wrapping import wraps
from graftax.optimizers.arguments.kinds import COUNT, FRACTION, POSITIVE, WHOLE, Kinds
from graftax.optimizers.engine.arithmetic import moving_average
from graftax.optimizers.engine.gradients import Variables, flat_variables
from graftax.optimizers.engine.learning_rate import LearningRate
from graftax.optimizers.engine.numbers import cast_to
from graftax.optimizers.engine.options import Options
from graftax.optimizers.engine.reached import differentiate_reached
from graftax.optimizers.engine.slot import Slot, SlotValues
from graftax.optimizers.engine.step import Step
from graftax.optimizers.engine.total import total
from graftax.optimizers.minimizer import check_loss_fn, loss_of, watch_loss_fn
from graftax.optimizers.optimizer import Optimizer
from graftax.transforms.flow.branches import cond
from graftax.transforms.gradients.grad import grad
from graftax.variables import random
from graftax.variables.graph.trained_model import seen_from
from graftax.variables.variable import Variable


class Sophia(Optimizer):
    """Momentum divided by the curvature along each weight, in steps no longer than the rate: Sophia-H.

    ``m = beta_1 * m + (1 - beta_1) * g;  w = w - rate * clip(m / max(gamma * h, epsilon), -1, 1)``. Every
    ``update_every`` updates, with normal noise ``u`` and the Hessian ``H`` of the loss (Hutchinson's estimate of its
    diagonal), ``h = beta_2 * h + (1 - beta_2) * u * (H u)``. Neither average is corrected for its start, as in the
    paper (optax corrects ``m``, and estimates after the step, not before); where ``h`` is zero or negative, the step is
    that of the sign.

    `minimize`, and so `Model.fit`, estimates by itself, before the first update and then when it is due, with the same
    loss: it is computed once more, and what it assigns on its way (moving averages, random streams) is assigned once
    more. Beside `apply`, call `update_hessian` every few updates: without it all steps go by the sign.

    Args:
        learning_rate: The longest step of a weight; see `Optimizer`. Defaults to 0.001.
        beta_1: How much of the average of gradients is kept, in [0, 1). Defaults to 0.96.
        beta_2: How much of the average of curvatures is kept, in [0, 1). Defaults to 0.99.
        gamma: What part of the curvature counts, positive: the larger, the shorter the steps that are not clipped.
            Defaults to 0.01.
        epsilon: Bound on the divisor from below. Defaults to 1e-12.
        update_every: Updates between two estimates in `minimize`. Defaults to 10.
        seed: Of the noise. Defaults to 0.
        **options: See `Optimizer`.

    Raises:
        ArgumentError: a fraction is outside [0, 1), or a number is not positive.

    Example:
        >>> import graftax as gx
        >>> w = gx.Variable([1.0, -0.01])
        >>> optimizer = Sophia(0.5, beta_1=0.0, beta_2=0.0, gamma=1.0)
        >>> loss = optimizer.minimize(lambda: gx.ops.sum(w * w), [w])
        >>> bool((optimizer.slot(w, "hessian") > 0).all()), bool(abs(w.numpy()[0]) < 1)  # h is 2 * u**2
        (True, True)

    Source: Liu et al., arXiv:2305.14342, algorithms 1 and 3.
    """

    elementwise = True

    _gx_fixed: ClassVar[frozenset[str]] = frozenset({"seed"})

    arguments: ClassVar[Kinds] = {
        "beta_1": FRACTION,
        "beta_2": FRACTION,
        "gamma": POSITIVE,
        "epsilon": POSITIVE,
        "update_every": COUNT,
        "seed": WHOLE,
    }

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        beta_1: float = 0.96,
        beta_2: float = 0.99,
        gamma: float = 0.01,
        epsilon: float = 1e-12,
        update_every: int = 10,
        seed: int = 0,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.gamma = gamma
        self.epsilon = epsilon
        self.update_every = update_every
        self.seed = seed
        self.noise = random.SeedGenerator(seed)
        self.noise.build()

    def create_slots(self, variable: Variable) -> Mapping[str, Slot]:
        """Declare the two averages."""
        return {"momentum": Slot(), "hessian": Slot()}

    def update(self, gradient: Array, value: Array, slots: SlotValues, step: Step) -> tuple[Array, Mapping[str, Array]]:
        """Compute the new value of a variable, and of its slots."""
        momentum = moving_average(self.beta_1, slots.momentum, gradient)
        ratio = momentum / ops.maximum(self.gamma * slots.hessian, self.epsilon)
        new = value - step.learning_rate * ops.clip(ratio, -1.0, 1.0)
        return new, {"momentum": momentum, "hessian": slots.hessian}

    def update_hessian(self, loss_fn: Callable[[], Any], variables: Variables) -> None:
        """Estimate once the curvature of ``loss_fn()``, for the trainable ones of the variables.

        Raises:
            GradientError: the loss depends on none of them.
        """
        with seen_from(variables):
            wrt = [v for v in self._gx_build(flat_variables(variables)) if self._gx_rule_of(v) is self]
        if not wrt:
            return
        noise = [random.normal(v.shape, dtype=v.dtype, seed=self.noise) for v in wrt]
        wide = "float64" if any(v.dtype == "float64" for v in wrt) else "float32"

        @wraps(loss_fn)
        def loss_and_none() -> tuple[Array, None]:
            return loss_fn(), None

        def slope_along() -> Array:
            _, slopes = differentiate_reached(loss_and_none, wrt, self._gx_slots)()
            pairs = [(g, u) for g, u in zip(slopes, noise, strict=True) if g is not None]
            return total([ops.sum(cast_to(g, wide) * cast_to(u, wide)) for g, u in pairs])

        for variable, u, product in zip(wrt, noise, grad(slope_along, wrt=wrt)(), strict=True):
            slot = self._gx_slots.state(variable).slots["hessian"]
            estimate = cast_to(u, slot.dtype) * cast_to(product, slot.dtype)
            slot.assign(moving_average(self.beta_2, slot.value, estimate))

    @door
    def minimize(self, loss_fn: Callable[[], Any], variables: Variables, has_aux: bool = False) -> Any:
        """See `Minimizer`; estimates the curvature when it is due."""
        check_loss_fn(loss_fn)
        loss_fn = watch_loss_fn(loss_fn, variables)
        due = ops.equal(self.iterations.value % self.update_every, 0)
        if self.accumulation_steps > 1:
            due = ops.logical_and(due, ops.equal(self.gathered.value, 0))
        self.build(variables)

        @wraps(loss_fn)
        def loss_alone() -> Array:
            return loss_of(loss_fn(), has_aux)

        cond(due, lambda: self.update_hessian(loss_alone, variables), lambda: None)
        return super().minimize(loss_fn, variables, has_aux)
