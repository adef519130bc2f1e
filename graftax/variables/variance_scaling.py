"""Initializers whose variance follows from the number of inputs and outputs of a weight."""

from __future__ import annotations

import math

from graftax.backend import registry
from graftax.core.errors import ArgumentError
from graftax.core.hyperparameters import check_number
from graftax.core.hyperparameters import check_seed as checked_seed
from graftax.core.typedefs import Array, Shape
from graftax.variables.base_initializer import SIGMAS, BaseInitializer, require_held, require_real

_CUT_STDDEV = 0.87962566103423978  # standard deviation of a standard normal cut off at ±2


class VarianceScaling(BaseInitializer):
    """Draws whose variance is ``scale / n``, n being the fan in, fan out or their mean.

    The fans of ``(*window, in, out)`` are ``in`` and ``out`` times the window's size.

    Args:
        scale: Factor of the variance. Defaults to 1.0.
        mode: ``"fan_in"``, ``"fan_out"`` or ``"fan_avg"``. Defaults to ``"fan_in"``.
        distribution: ``"truncated_normal"`` (rescaled to keep the variance), ``"untruncated_normal"`` or ``"uniform"``.
            Defaults to ``"truncated_normal"``.
        seed: Makes the draws independent of the global seed. Defaults to None: they follow the global seed.

    Example:
        >>> from graftax.backend import registry
        >>> x = VarianceScaling(2.0)(registry.current().random.key(0), (400, 300), "float32")
        >>> abs(float(x.var()) * 400 - 2.0) < 0.05
        True

    Source: Glorot and Bengio 2010; He et al., arXiv 1502.01852.
    """

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
        seed: int | None = None,
    ) -> None:
        scale = check_number("scale", scale, lambda number: number > 0, "a variance is positive", 1.0)
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ArgumentError(f"mode={mode!r}", "there is no such mode", '"fan_in", "fan_out" or "fan_avg"')
        if distribution not in ("truncated_normal", "untruncated_normal", "uniform"):
            raise ArgumentError(
                f"distribution={distribution!r}",
                "there is no such distribution",
                '"truncated_normal", "untruncated_normal" or "uniform"',
            )
        self.scale, self.mode, self.distribution, self.seed = scale, mode, distribution, checked_seed(seed)

    def __call__(self, key: Array, shape: Shape, dtype: str) -> Array:
        require_real(self, dtype, or_complex=self.distribution == "untruncated_normal")
        fan_in, fan_out = fans(shape)
        n = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[self.mode]
        stddev = math.sqrt(self.scale / max(n, 1.0))
        require_held(self, dtype, SIGMAS * stddev)
        random = registry.current().random
        if self.distribution == "uniform":
            bound = math.sqrt(3.0) * stddev
            return random.uniform(key, shape, dtype, -bound, bound)
        if self.distribution == "truncated_normal":
            return random.truncated_normal(key, -2.0, 2.0, shape, dtype) * (stddev / _CUT_STDDEV)
        return random.normal(key, shape, dtype) * stddev


def fans(shape: Shape) -> tuple[float, float]:
    """Return fan in and fan out of ``(*window, in, out)``; of a vector both are its size."""
    if len(shape) < 2:
        n = float(shape[0]) if shape else 1.0
        return n, n
    window = math.prod(shape[:-2])
    return float(window * shape[-2]), float(window * shape[-1])


class GlorotUniform(VarianceScaling):
    """Uniform with variance ``2 / (fan_in + fan_out)``.

    Args:
        seed: Makes the draws independent of the global seed. Defaults to None: they follow the global seed.

    Source: Glorot and Bengio 2010, AISTATS.
    """

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(1.0, "fan_avg", "uniform", seed)


class GlorotNormal(VarianceScaling):
    """Truncated normal with variance ``2 / (fan_in + fan_out)``.

    Args:
        seed: Makes the draws independent of the global seed. Defaults to None: they follow the global seed.

    Source: Glorot and Bengio 2010, AISTATS.
    """

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(1.0, "fan_avg", "truncated_normal", seed)


class HeNormal(VarianceScaling):
    """Truncated normal with variance ``2 / fan_in``.

    Args:
        seed: Makes the draws independent of the global seed. Defaults to None: they follow the global seed.

    Source: He et al., arXiv 1502.01852.
    """

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(2.0, "fan_in", "truncated_normal", seed)


class HeUniform(VarianceScaling):
    """Uniform with variance ``2 / fan_in``.

    Args:
        seed: Makes the draws independent of the global seed. Defaults to None: they follow the global seed.

    Source: He et al., arXiv 1502.01852.
    """

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(2.0, "fan_in", "uniform", seed)


class LecunNormal(VarianceScaling):
    """Truncated normal with variance ``1 / fan_in``.

    Args:
        seed: Makes the draws independent of the global seed. Defaults to None: they follow the global seed.

    Source: LeCun et al. 1998, Efficient BackProp.
    """

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(1.0, "fan_in", "truncated_normal", seed)


class LecunUniform(VarianceScaling):
    """Uniform with variance ``1 / fan_in``.

    Args:
        seed: Makes the draws independent of the global seed. Defaults to None: they follow the global seed.

    Source: LeCun et al. 1998, Efficient BackProp.
    """

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(1.0, "fan_in", "uniform", seed)
