"""Initializers: pure functions of a key, a shape and a dtype.

The key that a Variable passes is derived from the global seed (or the initializer's own) and from the Variable's path,
so that one initializer object gives different values to different weights, and adding a layer changes no other's.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, TypeAlias

import numpy as np

from graftax import ops
from graftax.backend import registry
from graftax.errors import ArgumentError
from graftax.typedefs import Array, ArrayLike, Initializer, Shape, unwrap

InitializerLike: TypeAlias = "str | Initializer | ArrayLike"

_CUT_STDDEV = 0.87962566103423978  # standard deviation of a standard normal cut off at ±2


class BaseInitializer:
    """The base: subclasses define ``__call__(key, shape, dtype)``; the repr shows their arguments.

    ``seed`` fixes the draws whatever the global seed is; the path of the weight still tells weights apart.
    ``draws = False`` on a class says that it needs no key, and is given None.
    """

    seed: int | None = None
    draws: ClassVar[bool] = True

    def __call__(self, key: Array, shape: Shape, dtype: str) -> Array:
        """Values of that shape and dtype."""
        raise TypeError(f"{type(self).__name__} must define __call__(key, shape, dtype)")

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}={value!r}" for name, value in vars(self).items() if value is not None)
        return f"{type(self).__name__}({arguments})"


class Zeros(BaseInitializer):
    """All zeros.

    Example:
        >>> Zeros()(None, (2,), "float32").tolist()
        [0.0, 0.0]
    """

    draws = False

    def __call__(self, key: Array, shape: Shape, dtype: str) -> Array:
        return ops.zeros(shape, dtype)


class Ones(BaseInitializer):
    """All ones.

    Example:
        >>> Ones()(None, (2,), "float32").tolist()
        [1.0, 1.0]
    """

    draws = False

    def __call__(self, key: Array, shape: Shape, dtype: str) -> Array:
        return ops.ones(shape, dtype)


class Constant(BaseInitializer):
    """One number everywhere, or an array of the Variable's shape.

    Args:
        value: The number or the array.

    Raises:
        ArgumentError: at the creation: an array of another shape.

    Example:
        >>> Constant(0.5)(None, (2,), "float32").tolist()
        [0.5, 0.5]
    """

    draws = False

    def __init__(self, value: ArrayLike = 0.0) -> None:
        self.value = value

    def __call__(self, key: Array, shape: Shape, dtype: str) -> Array:
        value = registry.current().arrays.asarray(unwrap(self.value), dtype)
        if value.ndim and tuple(value.shape) != tuple(shape):
            raise ArgumentError(
                f"Constant holds shape {tuple(value.shape)}",
                f"the variable has shape {shape}",
                "a number, or that shape",
            )
        return ops.broadcast_to(value, shape)

    def __repr__(self) -> str:
        shape = np.shape(unwrap(self.value))
        return f"Constant(<array of shape {shape}>)" if shape else f"Constant({self.value!r})"


class RandomNormal(BaseInitializer):
    """Normal with a mean and a standard deviation.

    Args:
        mean: Mean.
        stddev: Standard deviation.
        seed: Makes the draws independent of the global seed.

    Example:
        >>> from graftax.backend import registry
        >>> RandomNormal()(registry.current().random.key(0), (3, 2), "float32").shape
        (3, 2)
    """

    def __init__(self, mean: float = 0.0, stddev: float = 0.05, seed: int | None = None) -> None:
        self.mean, self.stddev, self.seed = mean, stddev, seed

    def __call__(self, key: Array, shape: Shape, dtype: str) -> Array:
        return registry.current().random.normal(key, shape, dtype) * self.stddev + self.mean


class TruncatedNormal(BaseInitializer):
    """Normal, draws beyond two standard deviations redrawn; the spread is not rescaled (0.88 of ``stddev``).

    Args:
        mean: Mean.
        stddev: Standard deviation before the cut.
        seed: Makes the draws independent of the global seed.

    Example:
        >>> from graftax.backend import registry
        >>> x = TruncatedNormal(stddev=1.0)(registry.current().random.key(0), (1000,), "float32")
        >>> bool(abs(x).max() <= 2)
        True
    """

    def __init__(self, mean: float = 0.0, stddev: float = 0.05, seed: int | None = None) -> None:
        self.mean, self.stddev, self.seed = mean, stddev, seed

    def __call__(self, key: Array, shape: Shape, dtype: str) -> Array:
        draws = registry.current().random.truncated_normal(key, -2.0, 2.0, shape, dtype)
        return draws * self.stddev + self.mean


class RandomUniform(BaseInitializer):
    """Uniform in ``[minval, maxval)``.

    Args:
        minval: Lower bound.
        maxval: Upper bound.
        seed: Makes the draws independent of the global seed.

    Example:
        >>> from graftax.backend import registry
        >>> x = RandomUniform()(registry.current().random.key(0), (1000,), "float32")
        >>> bool(abs(x).max() <= 0.05)
        True
    """

    def __init__(self, minval: float = -0.05, maxval: float = 0.05, seed: int | None = None) -> None:
        self.minval, self.maxval, self.seed = minval, maxval, seed

    def __call__(self, key: Array, shape: Shape, dtype: str) -> Array:
        return registry.current().random.uniform(key, shape, dtype, self.minval, self.maxval)


class VarianceScaling(BaseInitializer):
    """Draws whose variance is ``scale / n``, n being the fan in, fan out or their mean.

    The fans of ``(*window, in, out)`` are ``in`` and ``out`` times the window's size.

    Args:
        scale: Factor of the variance.
        mode: ``"fan_in"``, ``"fan_out"`` or ``"fan_avg"``.
        distribution: ``"truncated_normal"`` (rescaled to keep the variance), ``"untruncated_normal"`` or ``"uniform"``.
        seed: Makes the draws independent of the global seed.

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
        if scale <= 0:
            raise ArgumentError(f"scale={scale}", "a variance is positive", "scale=1.0")
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ArgumentError(f"mode={mode!r}", "there is no such mode", '"fan_in", "fan_out" or "fan_avg"')
        if distribution not in ("truncated_normal", "untruncated_normal", "uniform"):
            raise ArgumentError(
                f"distribution={distribution!r}",
                "there is no such distribution",
                '"truncated_normal", "untruncated_normal" or "uniform"',
            )
        self.scale, self.mode, self.distribution, self.seed = scale, mode, distribution, seed

    def __call__(self, key: Array, shape: Shape, dtype: str) -> Array:
        fan_in, fan_out = fans(shape)
        n = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[self.mode]
        stddev = math.sqrt(self.scale / max(n, 1.0))
        random = registry.current().random
        if self.distribution == "uniform":
            bound = math.sqrt(3.0) * stddev
            return random.uniform(key, shape, dtype, -bound, bound)
        if self.distribution == "truncated_normal":
            return random.truncated_normal(key, -2.0, 2.0, shape, dtype) * (stddev / _CUT_STDDEV)
        return random.normal(key, shape, dtype) * stddev


def fans(shape: Shape) -> tuple[float, float]:
    """Fan in and fan out of ``(*window, in, out)``; of a vector both are its size."""
    if len(shape) < 2:
        n = float(shape[0]) if shape else 1.0
        return n, n
    window = math.prod(shape[:-2])
    return float(window * shape[-2]), float(window * shape[-1])


class GlorotUniform(VarianceScaling):
    """Uniform with variance ``2 / (fan_in + fan_out)``.

    Args:
        seed: Makes the draws independent of the global seed.

    Source: Glorot and Bengio 2010, AISTATS.
    """

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(1.0, "fan_avg", "uniform", seed)


class GlorotNormal(VarianceScaling):
    """Truncated normal with variance ``2 / (fan_in + fan_out)``.

    Args:
        seed: Makes the draws independent of the global seed.

    Source: Glorot and Bengio 2010, AISTATS.
    """

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(1.0, "fan_avg", "truncated_normal", seed)


class HeNormal(VarianceScaling):
    """Truncated normal with variance ``2 / fan_in``.

    Args:
        seed: Makes the draws independent of the global seed.

    Source: He et al., arXiv 1502.01852.
    """

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(2.0, "fan_in", "truncated_normal", seed)


class HeUniform(VarianceScaling):
    """Uniform with variance ``2 / fan_in``.

    Args:
        seed: Makes the draws independent of the global seed.

    Source: He et al., arXiv 1502.01852.
    """

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(2.0, "fan_in", "uniform", seed)


class LecunNormal(VarianceScaling):
    """Truncated normal with variance ``1 / fan_in``.

    Args:
        seed: Makes the draws independent of the global seed.

    Source: LeCun et al. 1998, Efficient BackProp.
    """

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(1.0, "fan_in", "truncated_normal", seed)


class LecunUniform(VarianceScaling):
    """Uniform with variance ``1 / fan_in``.

    Args:
        seed: Makes the draws independent of the global seed.

    Source: LeCun et al. 1998, Efficient BackProp.
    """

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(1.0, "fan_in", "uniform", seed)


class Orthogonal(BaseInitializer):
    """A random orthogonal matrix: rows, or columns if there are fewer, are orthonormal. ``(..., out)`` is seen as 2-D.

    Args:
        gain: Factor on the matrix.
        seed: Makes the draws independent of the global seed.

    Raises:
        ArgumentError: at the creation: fewer than two axes.

    Example:
        >>> from graftax.backend import registry
        >>> q = Orthogonal()(registry.current().random.key(0), (3, 3), "float32")
        >>> bool(abs(q @ q.T - np.eye(3)).max() < 1e-5)
        True

    Source: Saxe et al., arXiv 1312.6120.
    """

    def __init__(self, gain: float = 1.0, seed: int | None = None) -> None:
        self.gain, self.seed = gain, seed

    def __call__(self, key: Array, shape: Shape, dtype: str) -> Array:
        if len(shape) < 2:
            raise ArgumentError(
                f"Orthogonal for shape {shape}", "a matrix is needed", "another initializer for vectors"
            )
        rows, columns = math.prod(shape[:-1]), shape[-1]
        tall = (max(rows, columns), min(rows, columns))
        q, r = ops.qr(registry.current().random.normal(key, tall, "float32"))
        q = q * ops.sign(ops.diagonal(r))  # makes the factorisation unique, hence the draw uniform
        q = ops.transpose(q) if rows < columns else q
        return ops.cast(self.gain * ops.reshape(q, shape), dtype)


class Identity(BaseInitializer):
    """The identity matrix times a gain, for 2-D shapes.

    Args:
        gain: Factor on the matrix.

    Raises:
        ArgumentError: at the creation: not exactly two axes.

    Example:
        >>> Identity()(None, (2, 2), "float32").tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """

    draws = False

    def __init__(self, gain: float = 1.0) -> None:
        self.gain = gain

    def __call__(self, key: Array, shape: Shape, dtype: str) -> Array:
        if len(shape) != 2:
            raise ArgumentError(f"Identity for shape {shape}", "a matrix has two axes", "another initializer")
        return self.gain * ops.eye(shape[0], shape[1], dtype=dtype)


_NAMES: dict[str, type[BaseInitializer]] = {
    "zeros": Zeros,
    "ones": Ones,
    "constant": Constant,
    "random_normal": RandomNormal,
    "normal": RandomNormal,
    "truncated_normal": TruncatedNormal,
    "random_uniform": RandomUniform,
    "uniform": RandomUniform,
    "variance_scaling": VarianceScaling,
    "glorot_uniform": GlorotUniform,
    "glorot_normal": GlorotNormal,
    "he_normal": HeNormal,
    "he_uniform": HeUniform,
    "lecun_normal": LecunNormal,
    "lecun_uniform": LecunUniform,
    "orthogonal": Orthogonal,
    "identity": Identity,
}


def get(initializer: Any) -> Initializer:
    """An initializer from its name, a function of ``(key, shape, dtype)``, a number or an array.

    Raises:
        ArgumentError: no initializer has that name.

    Example:
        >>> get("zeros")
        Zeros()
    """
    if isinstance(initializer, str):
        if initializer not in _NAMES:
            raise ArgumentError(f"initializer={initializer!r}", "there is none of that name", ", ".join(_NAMES))
        return _NAMES[initializer]()
    return initializer if callable(initializer) else Constant(initializer)
