"""Learning rates that fall along half a cosine, once or again and again."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import ClassVar

from graftax import ops
from graftax.core.errors import ArgumentError
from graftax.core.typedefs import Array
from graftax.optimizers.arguments.kinds import FACTOR, NOT_NEGATIVE, POSITIVE, STEPS, Kinds
from graftax.optimizers.schedules.schedule import Schedule


class CosineDecay(Schedule):
    """Half a cosine from ``initial`` to ``alpha * initial``, after a linear warm-up where one is asked for.

    As in Keras, ``decay_steps`` does not count the warm-up; in optax it does.

    Args:
        initial_learning_rate: Rate at step 0.
        decay_steps: Steps of the decay.
        alpha: The end, as a fraction of the rate at which the decay starts. Defaults to 0.0.
        warmup_target: Rate at the end of the warm-up, from which the decay starts; None for no warm-up.
        warmup_steps: Steps of the warm-up. Defaults to 0.

    Raises:
        ArgumentError: warmup_steps without warmup_target.

    Example:
        >>> CosineDecay(1.0, 10)(5).round(6).tolist()
        0.5

    Source: Loshchilov and Hutter, arXiv:1608.03983.
    """

    arguments: ClassVar[Kinds] = {
        "initial_learning_rate": NOT_NEGATIVE,
        "alpha": NOT_NEGATIVE,
        "warmup_steps": NOT_NEGATIVE,
        "decay_steps": STEPS,
        "warmup_target": replace(NOT_NEGATIVE, optional=True, instead="None"),
    }

    def __init__(
        self,
        initial_learning_rate: float,
        decay_steps: float,
        alpha: float = 0.0,
        warmup_target: float | None = None,
        warmup_steps: float = 0,
    ) -> None:
        super().__init__()
        self.initial_learning_rate = initial_learning_rate
        self.decay_steps = decay_steps
        self.alpha = alpha
        self.warmup_target = warmup_target
        self.warmup_steps = warmup_steps
        self._gx_check_together()

    def _gx_check_together(self) -> None:
        """Raise for one of the two arguments of a warm-up without the other."""
        if (self.warmup_target is None) != (isinstance(self.warmup_steps, int | float) and self.warmup_steps == 0):
            raise ArgumentError(
                f"warmup_target={self.warmup_target!r}, warmup_steps={self.warmup_steps!r}",
                "a warm-up needs both, and one of them would be ignored",
                "warmup_target=1e-3, warmup_steps=1000",
            )

    def rate(self, step: Array) -> Array:
        """See the class."""
        first = self.initial_learning_rate
        if self.warmup_target is None:
            return first * self._decay(step)
        warm = first + (self.warmup_target - first) * step / self.warmup_steps
        decayed = self.warmup_target * self._decay(ops.maximum(step - self.warmup_steps, 0.0))
        return ops.where(step < self.warmup_steps, warm, decayed)

    def _decay(self, step: Array) -> Array:
        return _half_cosine(ops.minimum(step, self.decay_steps) / self.decay_steps, self.alpha)


class CosineDecayRestarts(Schedule):
    """Half a cosine after another, each ``t_mul`` times as long and ``m_mul`` times as high as the one before.

    Args:
        initial_learning_rate: Rate at step 0.
        first_decay_steps: Steps of the first one.
        t_mul: Factor on the length, at least 1. Defaults to 2.0.
        m_mul: Factor on the height. Defaults to 1.0.
        alpha: The end of each, as a fraction of the initial rate. Defaults to 0.0.

    Raises:
        ArgumentError: t_mul is below 1.

    Example:
        >>> schedule = CosineDecayRestarts(1.0, 4, m_mul=0.5)
        >>> [schedule(step).round(6).tolist() for step in (0, 4, 12)]
        [1.0, 0.5, 0.25]

    Source: Loshchilov and Hutter, arXiv:1608.03983.
    """

    arguments: ClassVar[Kinds] = {
        "initial_learning_rate": NOT_NEGATIVE,
        "alpha": NOT_NEGATIVE,
        "first_decay_steps": STEPS,
        "t_mul": FACTOR,
        "m_mul": POSITIVE,
    }

    def __init__(
        self,
        initial_learning_rate: float,
        first_decay_steps: float,
        t_mul: float = 2.0,
        m_mul: float = 1.0,
        alpha: float = 0.0,
    ) -> None:
        super().__init__()
        self.initial_learning_rate = initial_learning_rate
        self.first_decay_steps = first_decay_steps
        self.t_mul = t_mul
        self.m_mul = m_mul
        self.alpha = alpha

    def rate(self, step: Array) -> Array:
        """See the class."""
        periods = step / self.first_decay_steps
        if isinstance(self.t_mul, int | float):
            restarts, done = _equal_periods(periods) if self.t_mul == 1 else _growing_periods(periods, self.t_mul)
        else:  # what a Variable holds is not known in a trace, and the formula divides by its distance from 1
            equal = ops.equal(self.t_mul, 1)
            grown = _growing_periods(periods, ops.where(equal, 2.0, self.t_mul))
            restarts, done = (ops.where(equal, *pair) for pair in zip(_equal_periods(periods), grown, strict=True))
        return self.initial_learning_rate * _half_cosine(done, self.alpha, self.m_mul**restarts)


def _equal_periods(periods: Array) -> tuple[Array, Array]:
    """Return how many periods of length 1 are over, and how much of the next."""
    restarts = ops.floor(periods)
    return restarts, periods - restarts


def _growing_periods(periods: Array, factor: Array | float) -> tuple[Array, Array]:
    """Return how many periods of lengths 1, ``factor``, ``factor**2`` ... are over, and how much of the next."""

    def start(restarts: Array) -> Array:
        return (factor**restarts - 1) / (factor - 1)

    log = math.log(factor) if isinstance(factor, int | float) else ops.log(factor)
    guess = ops.floor(ops.log1p(periods * (factor - 1)) / log)
    # the logarithm is inexact where it matters, just at a restart
    restarts = ops.where(periods >= start(guess + 1), guess + 1, guess)
    restarts = ops.where(periods < start(restarts), restarts - 1, restarts)
    return restarts, (periods - start(restarts)) / factor**restarts


def _half_cosine(done: Array, alpha: float, height: Array | float = 1.0) -> Array:
    return (1 - alpha) * height * (0.5 * (1 + ops.cos(math.pi * done))) + alpha
