"""Adam with decoupled weight decay."""

from __future__ import annotations

from typing import Unpack

from graftax.optimizers.engine.learning_rate import LearningRate
from graftax.optimizers.engine.options import SharedOptions
from graftax.optimizers.update_rules.adam import Adam, EpsilonForm


class AdamW(Adam):
    """Adam after ``w = w - rate * weight_decay * w``; arguments as for `Adam`, with a decay that is on by default.

    Args:
        learning_rate: See `Optimizer`. Defaults to 0.001.
        weight_decay: Decay per unit of the rate (torch: 0.01, optax: 0.0001). Defaults to 0.004.
        beta_1: See `Adam`. Defaults to 0.9.
        beta_2: See `Adam`. Defaults to 0.999.
        epsilon: See `Adam`. Defaults to 1e-7.
        amsgrad: See `Adam`. Defaults to False.
        epsilon_form: See `Adam`. Defaults to ``"keras"``.
        **options: See `Optimizer`.

    Example:
        >>> import graftax as gx
        >>> kernel, bias = gx.Variable([1.0], name="kernel"), gx.Variable([1.0], name="bias")
        >>> optimizer = AdamW(0.1, weight_decay=0.5, rules=[("**/bias", {"weight_decay": 0.0})])
        >>> optimizer.apply([[0.0], [0.0]], [kernel, bias])
        >>> kernel.numpy().tolist(), bias.numpy().tolist()
        ([0.949999988079071], [1.0])

    Source: Loshchilov and Hutter, arXiv:1711.05101.
    """

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        weight_decay: float = 0.004,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        amsgrad: bool = False,
        epsilon_form: EpsilonForm = "keras",
        **options: Unpack[SharedOptions],
    ) -> None:
        super().__init__(
            learning_rate, beta_1, beta_2, epsilon, amsgrad, epsilon_form, weight_decay=weight_decay, **options
        )
