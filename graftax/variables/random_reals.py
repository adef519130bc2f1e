"""More random real numbers, and dropout."""

from __future__ import annotations

from typing import Any

from graftax.backend import registry
from graftax.core import hyperparameters
from graftax.core.dtypes import at_least_single, is_floating
from graftax.core.errors import DTypeError, ShapeError
from graftax.core.short_traceback import door
from graftax.core.typedefs import Array, ArrayLike, Shape, unwrap
from graftax.variables import distributions, draws
from graftax.variables.spec import sizes
from graftax.variables.streams import Seed, key_of

_SMALLEST = 2.0**-24
"""Half of the step between normal draws around 0."""


@door
def logistic(
    shape: Shape, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, dtype: str = "float32", seed: Seed = None
) -> Array:
    """Draw ``loc + scale log(u / (1 - u))``, u being uniform.

    Args:
        shape: Shape of the result.
        loc: What is added to draws. Defaults to 0.0.
        scale: What draws are multiplied by, above 0: a number, or an array that broadcasts. Defaults to 1.0.
        dtype: A floating dtype. Defaults to float32.
        seed: As for `normal`.

    Example:
        >>> from graftax import random
        >>> random.logistic((2, 3), seed=0).shape
        (2, 3)
    """
    shape, dtype, middle, factor = draws.location_and_scale("logistic", shape, loc, scale, dtype)
    first, second = registry.current().random.split(key_of(seed), 2)
    wide = at_least_single(dtype)
    ratio = draws.exponential(first, shape, wide) / draws.exponential(second, shape, wide)
    drawn = draws.cast_draws(registry.current().arrays.numpy.log(ratio), dtype)
    return drawn * factor + middle  # type: ignore[no-any-return]


@door
def cauchy(
    shape: Shape, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, dtype: str = "float32", seed: Seed = None
) -> Array:
    """Draw from the density ``scale / (π (scale² + (x - loc)²))``, the ratio of two normal numbers; it has no mean.

    Args:
        shape: Shape of the result.
        loc: What is added to draws. Defaults to 0.0.
        scale: What draws are multiplied by, above 0: a number, or an array that broadcasts. Defaults to 1.0.
        dtype: A floating dtype. Defaults to float32.
        seed: As for `normal`.

    Example:
        >>> from graftax import random
        >>> random.cauchy((2, 3), seed=0).shape
        (2, 3)
    """
    shape, dtype, middle, factor = draws.location_and_scale("cauchy", shape, loc, scale, dtype)
    random, numpy = registry.current().random, registry.current().arrays.numpy
    first, second = random.split(key_of(seed), 2)
    wide = at_least_single(dtype)
    below: Any = random.normal(second, shape, wide)
    ratio = random.normal(first, shape, wide) / numpy.where(below == 0, _SMALLEST, below)
    return draws.cast_draws(ratio, dtype) * factor + middle  # type: ignore[no-any-return]


@door
def student_t(shape: Shape, df: ArrayLike, dtype: str = "float32", seed: Seed = None) -> Array:
    """Draw from Student's t: a normal number over the root of a chi-square one, by its degrees of freedom.

    Draws carry no gradient with respect to ``df``.

    Args:
        shape: Shape of the result.
        df: Degrees of freedom, above 0: a number, or an array that broadcasts to the shape.
        dtype: A floating dtype. Defaults to float32.
        seed: As for `normal`.

    Example:
        >>> from graftax import random
        >>> random.student_t((2, 3), 5.0, seed=0).shape
        (2, 3)
    """
    shape, dtype = distributions.shape_first("student_t", shape), distributions.floating_dtype("student_t", dtype)
    random, arrays = registry.current().random, registry.current().arrays
    number = distributions.parameter("df", df, draws.ABOVE_0, shape, dtype)
    wide = at_least_single(dtype)
    half: Any = number / 2 if hyperparameters.is_number(number) else arrays.asarray(number, wide) / 2
    first, second = random.split(key_of(seed), 2)
    squares = draws.gamma(first, half, shape, wide) / half
    return draws.cast_draws(random.normal(second, shape, wide) / arrays.numpy.sqrt(squares), dtype)  # type: ignore[no-any-return]


@door
def multivariate_normal(
    shape: Shape, mean: ArrayLike, covariance: ArrayLike, dtype: str = "float32", seed: Seed = None
) -> Array:
    """Draw vectors of normal numbers that depend on each other: ``mean + L z``, ``L`` being the Cholesky factor.

    Args:
        shape: Shape of the result, which ends with the size of a vector.
        mean: Of each number: an array that broadcasts to the shape.
        covariance: A symmetric matrix ``(size, size)`` with positive eigenvalues, or one for each vector.
        dtype: A floating dtype. Defaults to float32.
        seed: As for `normal`.

    Raises:
        ShapeError: the covariance is no matrix of that size.

    Example:
        >>> from graftax import random
        >>> random.multivariate_normal((4, 2), 0.0, [[1.0, 0.5], [0.5, 1.0]], seed=0).shape
        (4, 2)
    """
    shape = distributions.shape_first("multivariate_normal", shape)
    dtype = distributions.floating_dtype("multivariate_normal", dtype)
    arrays, random = registry.current().arrays, registry.current().random
    wide = at_least_single(dtype)
    matrix: Any = arrays.asarray(unwrap(covariance), wide)
    if not shape or tuple(matrix.shape[-2:]) != (shape[-1],) * 2:
        raise ShapeError(
            f"a covariance of shape {tuple(matrix.shape)} for draws of shape {shape}",
            "the last axis of the draws is that of the matrix",
            f"a matrix {(shape[-1],) * 2}" if shape else "shape=(4, 2) for vectors of 2 numbers",
        )
    middle = distributions.parameter("mean", mean, distributions.NUMBER, shape, wide)
    factor = arrays.numpy.linalg.cholesky(matrix)
    z = random.normal(key_of(seed), shape, wide)
    drawn = arrays.numpy.matmul(factor, z[..., None])[..., 0] + middle
    return drawn.astype(dtype)  # type: ignore[no-any-return]


@door
def dropout(x: ArrayLike, rate: float, noise_shape: Shape | None = None, seed: Seed = None) -> Array:
    """Return an array with a share of its values dropped, and the rest multiplied by ``1 / (1 - rate)``.

    Args:
        x: An array.
        rate: The share of zeros, from 0 up and below 1.
        noise_shape: The shape of what is drawn, which broadcasts to that of the array; 1 drops a whole axis together.
            Defaults to None, the shape of the array.
        seed: As for `normal`.

    Raises:
        DTypeError: the array holds no fractions.
        ShapeError: the noise does not broadcast to the array.

    Example:
        >>> from graftax import random
        >>> sorted(set(random.dropout([1.0] * 8, 0.5, seed=0).tolist()))
        [0.0, 2.0]
    """
    arrays = registry.current().arrays
    array: Any = arrays.asarray(unwrap(x))
    reason = "it is the share of zeros, in [0, 1)"
    share = hyperparameters.check_number("rate", rate, lambda share: 0 <= share < 1, reason, 0.5)
    if not is_floating(array.dtype):
        raise DTypeError(f"dropout of dtype {array.dtype.name}", "what stays is scaled", "an array of float32")
    given = tuple(array.shape)
    shape = given if noise_shape is None else sizes(noise_shape)
    if len(shape) != len(given) or any(n not in (1, m) for n, m in zip(shape, given, strict=True)):
        raise ShapeError(
            f"noise_shape={shape} for an array of shape {given}", "each axis is as long, or 1", f"noise_shape={given}"
        )
    kept = registry.current().random.bernoulli(key_of(seed), 1 - share, shape)
    return arrays.numpy.where(kept, array / (1 - share), arrays.asarray(0, array.dtype.name))  # type: ignore[no-any-return]
