"""Random numbers whose state is a Variable: saved, restored, threaded through compiled functions."""

from __future__ import annotations

import typing as _typing
from typing import Any

from graftax.backend import registry
from graftax.core import hyperparameters
from graftax.core.errors import ArgumentError
from graftax.core.namespaces import make_getattr as _answering
from graftax.core.short_traceback import door
from graftax.core.typedefs import Array, ArrayLike, Shape
from graftax.variables import distributions, draws
from graftax.variables.keys import get_random_seed as get_random_seed
from graftax.variables.random_counts import binomial as binomial
from graftax.variables.random_counts import geometric as geometric
from graftax.variables.random_counts import multinomial as multinomial
from graftax.variables.random_counts import poisson as poisson
from graftax.variables.random_reals import cauchy as cauchy
from graftax.variables.random_reals import dropout as dropout
from graftax.variables.random_reals import logistic as logistic
from graftax.variables.random_reals import multivariate_normal as multivariate_normal
from graftax.variables.random_reals import student_t as student_t
from graftax.variables.spec import sizes
from graftax.variables.streams import Seed, key_of
from graftax.variables.streams import SeedGenerator as SeedGenerator
from graftax.variables.streams import set_random_seed as set_random_seed

__all__ = [
    "SeedGenerator",
    "bernoulli",
    "beta",
    "binomial",
    "categorical",
    "cauchy",
    "choice",
    "dirichlet",
    "dropout",
    "exponential",
    "gamma",
    "geometric",
    "get_random_seed",
    "gumbel",
    "laplace",
    "logistic",
    "multinomial",
    "multivariate_normal",
    "normal",
    "poisson",
    "randint",
    "set_random_seed",
    "shuffle",
    "student_t",
    "truncated_normal",
    "uniform",
]


@door
def normal(
    shape: Shape, mean: ArrayLike = 0.0, stddev: ArrayLike = 1.0, dtype: str = "float32", seed: Seed = None
) -> Array:
    """Draw normal numbers.

    The global stream, from which they come without ``seed``, is saved with every whole checkpoint and comes back with a
    whole program. A `SeedGenerator` that the model holds goes with the model alone.

    Args:
        shape: Shape of the result.
        mean: Mean: a number, or an array that broadcasts to the shape. Defaults to 0.0.
        stddev: Standard deviation, from 0 up, likewise. Defaults to 1.0.
        dtype: A floating dtype. Defaults to ``"float32"``.
        seed: An integer or key (the same draws every time), or a `SeedGenerator`. Defaults to None, the global stream.

    Raises:
        ArgumentError: a parameter is not finite, a standard deviation is negative, or the seed is none.
        ShapeError: a parameter does not broadcast to the shape.
        DTypeError: the dtype holds no fractions.

    Example:
        >>> normal((2, 3), seed=0).shape
        (2, 3)
    """
    shape, dtype = distributions.shape_first("normal", shape), distributions.floating_dtype("normal", dtype)
    moments = _moments(mean, stddev, shape, dtype)
    return _scale_and_shift(registry.current().random.normal(key_of(seed), shape, dtype), *moments)


@door
def uniform(
    shape: Shape, minval: ArrayLike = 0.0, maxval: ArrayLike = 1.0, dtype: str = "float32", seed: Seed = None
) -> Array:
    """Draw uniform numbers in ``[minval, maxval)``; arguments as for `normal`, and the lower bound comes first.

    Example:
        >>> bool((uniform((4,), seed=0) < 1).all())
        True
    """
    shape, dtype = distributions.shape_first("uniform", shape), distributions.floating_dtype("uniform", dtype)
    low, high = (
        distributions.parameter(name, bound, distributions.NUMBER, shape, dtype)
        for name, bound in (("minval", minval), ("maxval", maxval))
    )
    distributions.check_bounds(low, high)
    return registry.current().random.uniform(key_of(seed), shape, dtype, low, high)


@door
def truncated_normal(
    shape: Shape, mean: ArrayLike = 0.0, stddev: ArrayLike = 1.0, dtype: str = "float32", seed: Seed = None
) -> Array:
    """Draw normal numbers within two standard deviations of the mean; arguments as for `normal`.

    Example:
        >>> bool((abs(truncated_normal((100,), seed=0)) <= 2).all())
        True
    """
    shape, dtype = (
        distributions.shape_first("truncated_normal", shape),
        distributions.floating_dtype("truncated_normal", dtype),
    )
    moments = _moments(mean, stddev, shape, dtype)
    draws = registry.current().random.truncated_normal(key_of(seed), -2.0, 2.0, shape, dtype)
    return _scale_and_shift(draws, *moments)


@door
def randint(shape: Shape, minval: int, maxval: int, dtype: str = "int32", seed: Seed = None) -> Array:
    """Return integers in ``[minval, maxval)``; other arguments as for `normal`.

    Raises:
        ArgumentError: a bound is no integer, there is none between them, or the dtype does not hold all that are.
        DTypeError: the dtype is none of integers.

    Example:
        >>> bool((randint((5,), 0, 3, seed=0) < 3).all())
        True
    """
    shape = distributions.shape_first("randint", shape)
    low, high, dtype = distributions.integers(minval, maxval, dtype)
    return registry.current().random.randint(key_of(seed), shape, low, high, dtype)


@door
def bernoulli(shape: Shape, p: ArrayLike = 0.5, seed: Seed = None) -> Array:
    """Draw booleans that are True with probability ``p``: a number from 0 to 1, or an array that broadcasts.

    Example:
        >>> str(bernoulli((5,), seed=0).dtype)
        'bool'
    """
    shape = distributions.shape_first("bernoulli", shape)
    p = distributions.parameter("p", p, distributions.SHARE, shape, "float32")
    return registry.current().random.bernoulli(key_of(seed), p, shape)


@door
def categorical(logits: ArrayLike, shape: Shape | None = None, axis: int = -1, seed: Seed = None) -> Array:
    """Draw class numbers from softmax(logits) along an axis.

    Shape:
        ``(..., classes) -> (...)``, or ``shape`` if given, which ends with that.

    Raises:
        ShapeError: there is no such axis, no class, or the shape ends otherwise.

    Example:
        >>> int(categorical([0.0, 100.0], seed=0))
        1
    """
    shape = None if shape is None else sizes(shape)
    array, axis = distributions.scores(logits, axis, shape)
    return registry.current().random.categorical(key_of(seed), array, axis, shape)


@door
def shuffle(x: ArrayLike, axis: int = 0, seed: Seed = None) -> Array:
    """Return the rows of ``x`` in random order; an integer n stands for ``arange(n)``.

    Args:
        x: An array, or an integer.
        axis: Along which axis the rows lie. Defaults to 0.
        seed: As for `normal`.

    Raises:
        ArgumentError: a single number that is no integer from 0 up, or there is no such axis.

    Example:
        >>> sorted(shuffle(4, seed=0).tolist())
        [0, 1, 2, 3]
    """
    rows: Any = distributions.rows(x)
    number, axes = hyperparameters.check_axis(axis), getattr(rows, "ndim", 1)
    if not -axes <= number < axes:
        raise ArgumentError(f"axis={axis} of {axes}", "there is no such axis", "axis=0")
    if not number % axes:
        return registry.current().random.permutation(key_of(seed), rows)
    numpy = registry.current().arrays.numpy
    order = registry.current().random.permutation(key_of(seed), rows.shape[number])
    return numpy.take(rows, order, number)  # type: ignore[no-any-return]


@door
def exponential(shape: Shape, scale: ArrayLike = 1.0, dtype: str = "float32", seed: Seed = None) -> Array:
    """Draw from the density ``exp(-x / scale) / scale`` above 0.

    Args:
        shape: Shape of the result.
        scale: What draws are multiplied by, above 0: a number, or an array that broadcasts. Defaults to 1.0.
        dtype: A floating dtype. Defaults to float32.
        seed: As for `normal`.

    Example:
        >>> bool((exponential((4,), seed=0) > 0).all())
        True
    """
    shape, dtype = distributions.shape_first("exponential", shape), distributions.floating_dtype("exponential", dtype)
    factor = distributions.parameter("scale", scale, draws.ABOVE_0, shape, dtype)
    return draws.exponential(key_of(seed), shape, dtype) * factor  # type: ignore[no-any-return]


@door
def gumbel(
    shape: Shape, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, dtype: str = "float32", seed: Seed = None
) -> Array:
    """Draw from the density of Gumbel: ``loc - scale log(-log(u))``, u being uniform.

    Args:
        shape: Shape of the result.
        loc: What is added to draws. Defaults to 0.0.
        scale: What draws are multiplied by, above 0: a number, or an array that broadcasts. Defaults to 1.0.
        dtype: A floating dtype. Defaults to float32.
        seed: As for `normal`.

    Example:
        >>> gumbel((2, 3), seed=0).shape
        (2, 3)
    """
    shape, dtype, middle, factor = draws.location_and_scale("gumbel", shape, loc, scale, dtype)
    return _scale_and_shift(draws.gumbel(key_of(seed), shape, dtype), middle, factor)


@door
def laplace(
    shape: Shape, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, dtype: str = "float32", seed: Seed = None
) -> Array:
    """Draw from the density ``exp(-|x - loc| / scale) / (2 scale)``.

    Args:
        shape: Shape of the result.
        loc: What is added to draws. Defaults to 0.0.
        scale: What draws are multiplied by, above 0: a number, or an array that broadcasts. Defaults to 1.0.
        dtype: A floating dtype. Defaults to float32.
        seed: As for `normal`.

    Example:
        >>> laplace((2, 3), seed=0).shape
        (2, 3)
    """
    shape, dtype, middle, factor = draws.location_and_scale("laplace", shape, loc, scale, dtype)
    return _scale_and_shift(draws.laplace(key_of(seed), shape, dtype), middle, factor)


@door
def gamma(shape: Shape, alpha: ArrayLike, dtype: str = "float32", seed: Seed = None) -> Array:
    """Draw from the density ``x^(alpha - 1) exp(-x) / Γ(alpha)`` above 0; draws carry no gradient.

    Args:
        shape: Shape of the result.
        alpha: The shape of the distribution, above 0: a number, or an array that broadcasts to the shape.
        dtype: A floating dtype. Defaults to float32.
        seed: As for `normal`.

    Example:
        >>> bool((gamma((4,), 2.0, seed=0) > 0).all())
        True

    Source: Marsaglia and Tsang 2000, A simple method for generating gamma variables.
    """
    shape, dtype = distributions.shape_first("gamma", shape), distributions.floating_dtype("gamma", dtype)
    return draws.gamma(key_of(seed), distributions.parameter("alpha", alpha, draws.ABOVE_0, shape, dtype), shape, dtype)  # type: ignore[no-any-return]


@door
def beta(shape: Shape, alpha: ArrayLike, beta: ArrayLike, dtype: str = "float32", seed: Seed = None) -> Array:
    """Draw from the density ``x^(alpha - 1) (1 - x)^(beta - 1)`` in [0, 1]; draws carry no gradient.

    Args:
        shape: Shape of the result.
        alpha: The first parameter, above 0: a number, or an array that broadcasts to the shape.
        beta: The second one, likewise.
        dtype: A floating dtype. Defaults to float32.
        seed: As for `normal`.

    Example:
        >>> bool((beta((4,), 2.0, 3.0, seed=0) < 1).all())
        True
    """
    shape, dtype = distributions.shape_first("beta", shape), distributions.floating_dtype("beta", dtype)
    left, right = (
        distributions.parameter("alpha", alpha, draws.ABOVE_0, shape, dtype),
        distributions.parameter("beta", beta, draws.ABOVE_0, shape, dtype),
    )
    return draws.beta(key_of(seed), left, right, shape, dtype)  # type: ignore[no-any-return]


@door
def dirichlet(shape: Shape, alpha: ArrayLike, dtype: str = "float32", seed: Seed = None) -> Array:
    """Draw shares of a whole, along the last axis; draws carry no gradient.

    Args:
        shape: Shape of the result.
        alpha: One number above 0 for each share, or one for all: an array that broadcasts to the shape.
        dtype: A floating dtype. Defaults to float32.
        seed: As for `normal`.

    Example:
        >>> round(float(dirichlet((3,), [1.0, 2.0, 3.0], seed=0).sum()), 4)
        1.0
    """
    shape, dtype = distributions.shape_first("dirichlet", shape), distributions.floating_dtype("dirichlet", dtype)
    if not shape or not shape[-1]:
        raise ArgumentError(f"dirichlet(shape={shape})", "the last axis has the shares", "shape=(2, 3) for 3 shares")
    numbers = distributions.parameter("alpha", alpha, draws.ABOVE_0, shape, dtype)
    return draws.dirichlet(key_of(seed), numbers, shape, dtype)  # type: ignore[no-any-return]


@door
def choice(x: ArrayLike, count: int, replace: bool = True, p: ArrayLike | None = None, seed: Seed = None) -> Array:
    """Draw rows of ``x``; an integer n stands for ``arange(n)``.

    Args:
        x: An array, or an integer.
        count: How many rows.
        replace: False if none is drawn twice. Defaults to True.
        p: The share of each row, of 1 in all. Defaults to None, all alike.
        seed: As for `normal`.

    Raises:
        ArgumentError: there are not so many rows, or the shares do not add up to 1.
        ShapeError: there is not one share for each row.

    Example:
        >>> sorted(choice(3, 3, replace=False, seed=0).tolist())
        [0, 1, 2]
    """
    rows = distributions.rows(x)
    number = hyperparameters.check_integer("count", count, "it counts rows, from 0 up", 1, 0)
    return draws.choose_rows(key_of(seed), rows, number, hyperparameters.check_flag("replace", replace), p)  # type: ignore[no-any-return]


def _moments(mean: ArrayLike, stddev: ArrayLike, shape: Shape, dtype: str) -> tuple[Any, Any]:
    return (
        distributions.parameter("mean", mean, distributions.NUMBER, shape, dtype),
        distributions.parameter("stddev", stddev, distributions.SPREAD, shape, dtype),
    )


def _scale_and_shift(draws: Any, mean: Any, stddev: Any) -> Array:
    return draws * stddev + mean  # type: ignore[no-any-return]


if not _typing.TYPE_CHECKING:  # a checker should see which names there are
    __getattr__ = _answering("random")


def __dir__() -> list[str]:
    return sorted(__all__)
