"""VariationalNormal: weights that are distributions, sampled in training."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from graftax import ops
from graftax.core.dtypes import is_floating
from graftax.core.errors import ArgumentError, CreatorError
from graftax.core.typedefs import Array, VariableLike
from graftax.reparam.base import Reparam
from graftax.reparam.creator import Check, CheckedCreator, check_positive, not_negative
from graftax.reparam.quantized import QuantizedWeight
from graftax.variables import random
from graftax.variables.calls import is_training
from graftax.variables.floating import to_floating
from graftax.variables.initializers import Constant, Zeros
from graftax.variables.random import SeedGenerator
from graftax.variables.spec import VariableSpec
from graftax.variables.variable import Variable


def _kl_weight(name: str, value: object) -> Any:
    """Return a number, or a Variable that holds one; training would make one that is trainable as small as it can."""
    if not isinstance(value, Variable):
        return not_negative("it would drive weights off the prior", 1e-3)(name, value)
    if value.trainable or value.shape != () or not is_floating(value.dtype):
        raise ArgumentError(
            f"kl_weight={value!r:.100}",
            "it is one floating number that training leaves alone",
            "kl_weight=graftax.Variable(0.0, trainable=False)",
        )
    return value


class VariationalNormal(CheckedCreator):
    r"""A creator that learns a mean and a spread of each weight, of any shape; training draws from the distribution.

    .. math:: w = \mu + \log(1 + e^\rho) \, \varepsilon, \quad \varepsilon \sim \mathcal{N}(0, 1)

    Layer calls that are not of training read the mean. Each call of a layer in training draws anew, in eager code and
    in compiled functions alike: ``ops.stack([model(x, training=True) for _ in range(8)])`` is eight draws. How far the
    distribution is from the prior, ``kl_weight * KL(q || N(0, prior_stddev))``, is one of ``layer.losses``, which
    `Model.fit` adds.

    Args:
        prior_stddev: The spread of the prior, which has the mean 0. Defaults to 1.0.
        kl_weight: How much the distance counts: 1 over the number of training examples, where the loss is a mean. A
            Variable that is not trainable holds one that changes, as a warm-up of it does. Defaults to 1.0.
        stddev: The spread at first. Defaults to 0.02.

    Raises:
        ArgumentError: a spread is not above 0, or ``kl_weight`` is negative.
        CreatorError: the parts are stored as integers.

    Example:
        >>> import numpy as np, graftax as gx
        >>> x = np.ones((1, 16), "float32")
        >>> with gx.variable_creator_scope(VariationalNormal(kl_weight=1e-3), where="kernel"):
        ...     layer = gx.layers.Dense(8)
        ...     y = layer(x)
        >>> [v.path for v in layer.trainable_variables], len(layer.losses)
        (['kernel/base', 'kernel/rho', 'bias'], 1)
        >>> bool((layer(x) == y).all()), bool((layer(x, training=True) == y).all())
        (True, False)

    Source: Blundell et al., arXiv 1505.05424.
    """

    checks: ClassVar[Mapping[str, Check]] = {
        "prior_stddev": check_positive("it is a standard deviation", 1.0),
        "kl_weight": _kl_weight,
        "stddev": check_positive("it is a standard deviation", 1.0),
    }

    def __init__(self, prior_stddev: float = 1.0, kl_weight: float | Variable = 1.0, stddev: float = 0.02) -> None:
        self.prior_stddev, self.kl_weight, self.stddev = prior_stddev, kl_weight, stddev

    def __call__(self, next_creator: Callable[[VariableSpec], VariableLike], spec: VariableSpec) -> VariableLike:
        """Make the distribution."""
        return NormalWeight(next_creator, spec, self.prior_stddev, self.kl_weight, self.stddev)

    def __repr__(self) -> str:
        weight = f"{self.kl_weight:g}" if isinstance(self.kl_weight, float) else repr(self.kl_weight)
        return f"VariationalNormal({self.prior_stddev:g}, kl_weight={weight}, stddev={self.stddev:g})"


class NormalWeight(Reparam):
    """The weight that `VariationalNormal` makes: ``base`` is the mean.

    Args:
        next_creator: Makes the parts.
        spec: The spec of the weight.
        prior_stddev: The spread of the prior.
        kl_weight: How much the distance to it counts.
        stddev: The spread at first.
    """

    def __init__(
        self,
        next_creator: Callable[[VariableSpec], VariableLike],
        spec: VariableSpec,
        prior_stddev: float,
        kl_weight: float | Variable,
        stddev: float,
    ) -> None:
        super().__init__(spec)
        self.prior_stddev = prior_stddev
        self.kl_weight = kl_weight
        self.base = next_creator(spec.replace(name="base"))
        start = Constant(stddev + math.log(-math.expm1(-stddev)))  # log(exp(x) - 1), which for large x is x
        self.rho = next_creator(spec.replace(name="rho", initializer=start))
        if isinstance(self.base, QuantizedWeight) or isinstance(self.rho, QuantizedWeight):
            raise CreatorError(
                f"VariationalNormal of {spec.path!r}, the parts of which would be stored as frozen integers",
                "a distribution that cannot be trained says nothing about the data",
                "train it first; then graftax.ungraft(model), and Int8() or Int4() for the means",
            )
        seed = spec.replace(name="state", path=f"{spec.path}/seed/state", trainable=False, initializer=Zeros())
        self.seed = SeedGenerator()
        self.seed.state = next_creator(  # type: ignore[assignment]
            seed.replace(role="seed", dtype="uint32", shape=(2,), initializer=lambda key, shape, dtype: key)
        )

    def forward(self) -> Array:
        """Draw from the distribution in training, else return the mean."""
        mean = ops.asarray(self.base)
        if not is_training():
            return mean
        noise = random.normal(self.shape, dtype=str(mean.dtype), seed=self.seed)
        return mean + ops.softplus(self.rho) * noise

    def inverse(self, value: Array) -> None:
        """Move the mean; the spread stays."""
        self.base.assign(value)  # type: ignore[attr-defined]

    def penalty(self) -> Array:
        """Compute ``kl_weight`` times the Kullback-Leibler divergence from the prior."""
        base, rho = (
            to_floating(ops.asarray(part), "weight") for part in (self.base, self.rho)
        )  # squares overflow halves
        ratio = ops.softplus(rho) / self.prior_stddev
        distance = ops.square(ratio) + ops.square(base / self.prior_stddev) - 1
        return self.kl_weight * ops.sum(distance / 2 - ops.log(ratio))
