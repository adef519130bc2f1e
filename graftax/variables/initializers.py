"""Initializers: pure functions of a key, a shape and a dtype.

The key that a Variable passes is derived from the global seed (or the initializer's own) and from the Variable's path,
so that one initializer object gives different values to different weights, and adding a layer changes no other's.
"""

from __future__ import annotations

import math
import typing as _typing
from typing import Any, TypeAlias

import numpy as np

from graftax import ops
from graftax.backend import registry
from graftax.backend.host import check_plain
from graftax.core.dtypes import is_inexact
from graftax.core.errors import ArgumentError
from graftax.core.hyperparameters import check_finite, check_not_negative
from graftax.core.hyperparameters import check_seed as checked_seed
from graftax.core.known_names import not_made, unknown
from graftax.core.namespaces import make_getattr as _answering
from graftax.core.short_traceback import door
from graftax.core.typedefs import Array, ArrayLike, Initializer, Shape, unwrap
from graftax.core.user_functions import check_signature
from graftax.variables.base_initializer import SIGMAS, require_held, require_real
from graftax.variables.base_initializer import BaseInitializer as BaseInitializer
from graftax.variables.fitting import require_kept
from graftax.variables.variance_scaling import GlorotNormal as GlorotNormal
from graftax.variables.variance_scaling import GlorotUniform as GlorotUniform
from graftax.variables.variance_scaling import HeNormal as HeNormal
from graftax.variables.variance_scaling import HeUniform as HeUniform
from graftax.variables.variance_scaling import LecunNormal as LecunNormal
from graftax.variables.variance_scaling import LecunUniform as LecunUniform
from graftax.variables.variance_scaling import VarianceScaling as VarianceScaling

__all__ = [
    "BaseInitializer",
    "Constant",
    "GlorotNormal",
    "GlorotUniform",
    "HeNormal",
    "HeUniform",
    "Identity",
    "LecunNormal",
    "LecunUniform",
    "Ones",
    "Orthogonal",
    "RandomNormal",
    "RandomUniform",
    "TruncatedNormal",
    "VarianceScaling",
    "Zeros",
    "get",
]

InitializerLike: TypeAlias = "str | Initializer | ArrayLike"


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
        value: The number or the array. Defaults to 0.0.

    Raises:
        ArgumentError: at the creation: an array of another shape.

    Example:
        >>> Constant(0.5)(None, (2,), "float32").tolist()
        [0.5, 0.5]
    """

    draws = False

    def __init__(self, value: ArrayLike = 0.0) -> None:
        if value is None or isinstance(value, str):
            raise ArgumentError(f"Constant({value!r})", "it is neither a number nor an array", "Constant(0.0)")
        check_plain(value)
        # a copy of what the caller may change before a layer is built
        self.value = np.array(value) if isinstance(value, np.ndarray | list) else value

    def __call__(self, key: Array, shape: Shape, dtype: str) -> Array:
        given, arrays = unwrap(self.value), registry.current().arrays
        value = arrays.asarray(given, dtype)
        require_kept(arrays, given, value, f"{self!r} for a variable of dtype {dtype}")
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
        mean: Mean. Defaults to 0.0.
        stddev: Standard deviation. Defaults to 0.05.
        seed: Makes the draws independent of the global seed. Defaults to None: they follow the global seed.

    Example:
        >>> from graftax.backend import registry
        >>> RandomNormal()(registry.current().random.key(0), (3, 2), "float32").shape
        (3, 2)
    """

    def __init__(self, mean: float = 0.0, stddev: float = 0.05, seed: int | None = None) -> None:
        self.mean, self.stddev, self.seed = check_finite("mean", mean), _spread(stddev), checked_seed(seed)

    def __call__(self, key: Array, shape: Shape, dtype: str) -> Array:
        require_real(self, dtype, or_complex=True, reach=abs(self.mean) + SIGMAS * self.stddev)
        return registry.current().random.normal(key, shape, dtype) * self.stddev + self.mean


class TruncatedNormal(BaseInitializer):
    """Normal, draws beyond two standard deviations redrawn; the spread is not rescaled (0.88 of ``stddev``).

    Args:
        mean: Mean. Defaults to 0.0.
        stddev: Standard deviation before the cut. Defaults to 0.05.
        seed: Makes the draws independent of the global seed. Defaults to None: they follow the global seed.

    Example:
        >>> from graftax.backend import registry
        >>> x = TruncatedNormal(stddev=1.0)(registry.current().random.key(0), (1000,), "float32")
        >>> bool(abs(x).max() <= 2)
        True
    """

    def __init__(self, mean: float = 0.0, stddev: float = 0.05, seed: int | None = None) -> None:
        self.mean, self.stddev, self.seed = check_finite("mean", mean), _spread(stddev), checked_seed(seed)

    def __call__(self, key: Array, shape: Shape, dtype: str) -> Array:
        require_real(self, dtype, reach=abs(self.mean) + 2 * self.stddev)
        draws = registry.current().random.truncated_normal(key, -2.0, 2.0, shape, dtype)
        return draws * self.stddev + self.mean


class RandomUniform(BaseInitializer):
    """Uniform in ``[minval, maxval)``.

    Args:
        minval: Lower bound. Defaults to -0.05.
        maxval: Upper bound. Defaults to 0.05.
        seed: Makes the draws independent of the global seed. Defaults to None: they follow the global seed.

    Example:
        >>> from graftax.backend import registry
        >>> x = RandomUniform()(registry.current().random.key(0), (1000,), "float32")
        >>> bool(abs(x).max() <= 0.05)
        True
    """

    def __init__(self, minval: float = -0.05, maxval: float = 0.05, seed: int | None = None) -> None:
        self.minval, self.maxval = check_finite("minval", minval), check_finite("maxval", maxval)
        self.seed = checked_seed(seed)
        if self.minval > self.maxval:
            raise ArgumentError(
                f"minval={minval!r}, maxval={maxval!r}", "the lower bound comes first", "RandomUniform(-0.05, 0.05)"
            )

    def __call__(self, key: Array, shape: Shape, dtype: str) -> Array:
        require_real(self, dtype, reach=max(abs(self.minval), abs(self.maxval)))
        return registry.current().random.uniform(key, shape, dtype, self.minval, self.maxval)


class Orthogonal(BaseInitializer):
    """A random orthogonal matrix: rows, or columns if there are fewer, are orthonormal. ``(..., out)`` is seen as 2-D.

    Args:
        gain: Factor on the matrix. Defaults to 1.0.
        seed: Makes the draws independent of the global seed. Defaults to None: they follow the global seed.

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
        self.gain, self.seed = check_finite("gain", gain), checked_seed(seed)

    def __call__(self, key: Array, shape: Shape, dtype: str) -> Array:
        if len(shape) < 2:
            raise ArgumentError(
                f"Orthogonal for shape {shape}", "a matrix is needed", "another initializer for vectors"
            )
        require_real(self, dtype, or_complex=True, reach=abs(self.gain))
        rows, columns = math.prod(shape[:-1]), shape[-1]
        tall = (max(rows, columns), min(rows, columns))
        wide = "float64" if dtype in ("float64", "complex128") else "float32"
        q, r = ops.qr(registry.current().random.normal(key, tall, wide))
        q = q * ops.sign(ops.diagonal(r))  # makes the factorisation unique, hence the draw uniform
        q = ops.transpose(q) if rows < columns else q
        return ops.cast(self.gain * ops.reshape(q, shape), dtype)


class Identity(BaseInitializer):
    """The identity matrix times a gain, for 2-D shapes.

    Args:
        gain: Factor on the matrix. Defaults to 1.0.

    Raises:
        ArgumentError: at the creation: not exactly two axes.

    Example:
        >>> Identity()(None, (2, 2), "float32").tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """

    draws = False

    def __init__(self, gain: float = 1.0) -> None:
        self.gain = check_finite("gain", gain)

    def __call__(self, key: Array, shape: Shape, dtype: str) -> Array:
        if len(shape) != 2:
            raise ArgumentError(f"Identity for shape {shape}", "a matrix has two axes", "another initializer")
        if not is_inexact(dtype) and self.gain not in ((0, 1) if dtype == "bool" else (int(self.gain),)):
            raise ArgumentError(
                f"{self!r} for a variable of dtype {dtype}", "it would not be that gain", 'dtype="float32"'
            )
        if is_inexact(dtype):
            require_held(self, dtype, abs(self.gain))
        return ops.eye(shape[0], shape[1], dtype=dtype) * (self.gain if is_inexact(dtype) else int(self.gain))


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


_SPELLINGS = _NAMES | {cls.__name__: cls for cls in _NAMES.values()}


def _spread(stddev: float) -> float:
    return check_not_negative("stddev", stddev, "a standard deviation is a number from 0 up", 0.05)


@door
def get(initializer: Any) -> Initializer:
    """Return an initializer from its name, a function of ``(key, shape, dtype)``, a number or an array.

    Raises:
        ArgumentError: no initializer has that name.
        ArgumentTypeError: it is a class, or a function of other arguments.

    Example:
        >>> get("zeros")
        Zeros()
    """
    if isinstance(initializer, type):
        raise not_made("initializer", initializer)
    if isinstance(initializer, str):
        if initializer not in _SPELLINGS:
            raise unknown("initializer", initializer, _NAMES)
        return _SPELLINGS[initializer]()
    if not callable(initializer):
        return Constant(initializer)
    check_signature("initializer", initializer, ("key", "shape", "dtype"))
    return initializer  # type: ignore[no-any-return]


if not _typing.TYPE_CHECKING:  # a checker should see which names there are
    __getattr__ = _answering("initializers")


def __dir__() -> list[str]:
    return sorted(__all__)
