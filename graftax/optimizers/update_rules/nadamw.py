"""Nadam with decoupled weight decay."""

from __future__ import annotations

from typing import Unpack

from graftax.optimizers.engine.learning_rate import LearningRate
from graftax.optimizers.engine.options import SharedOptions
from graftax.optimizers.update_rules.nadam import Nadam


class NAdamW(Nadam):
    """Nadam after ``w = w - rate * weight_decay * w``; arguments as for `Nadam`, with a decay that is on by default.

    Args:
        learning_rate: See `Optimizer`. Defaults to 0.001.
        weight_decay: Decay per unit of the rate (torch: 0, optax: 0.0001). Defaults to 0.004.
        beta_1: See `Nadam`. Defaults to 0.9.
        beta_2: See `Nadam`. Defaults to 0.999.
        epsilon: See `Nadam`. Defaults to 1e-7.
        momentum_decay: See `Nadam`. Defaults to None, as in optax.
        **options: See `Optimizer`.

    Example:
        >>> import graftax as gx
        >>> w = gx.Variable([1.0])
        >>> NAdamW(0.1, weight_decay=0.5).apply([[0.0]], [w])
        >>> print(w.numpy().round(3))
        [0.95]

    Source: Dozat, Incorporating Nesterov momentum into Adam, ICLR workshop 2016; decay: Loshchilov and Hutter,
    arXiv:1711.05101.
    """

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        weight_decay: float = 0.004,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        momentum_decay: float | None = None,
        **options: Unpack[SharedOptions],
    ) -> None:
        super().__init__(learning_rate, beta_1, beta_2, epsilon, momentum_decay, weight_decay=weight_decay, **options)
