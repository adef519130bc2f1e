"""Random numbers whose state is a Variable: saved, restored, threaded through compiled functions."""

from __future__ import annotations

import typing as _typing
from numbers import Integral
from typing import TypeAlias

from graftax.backend import registry
from graftax.errors import ArgumentError
from graftax.module import Module
from graftax.namespaces import answering as _answering
from graftax.typedefs import Array, ArrayLike, Shape, unwrap
from graftax.variables import keys, storage
from graftax.variables.keys import get_random_seed as get_random_seed
from graftax.variables.spec import VariableSpec, sizes
from graftax.variables.variable import Variable, make

__all__ = [
    "SeedGenerator",
    "bernoulli",
    "categorical",
    "get_random_seed",
    "normal",
    "randint",
    "set_random_seed",
    "shuffle",
    "truncated_normal",
    "uniform",
]


class SeedGenerator(Module):
    """A stream of random keys; its state is a Variable of two uint32 with the role ``"seed"``.

    Args:
        seed: Fixes the stream. Unless given, it follows from the global seed and the generator's path, so every layer
            has a stream of its own, and adding a layer changes no other's.
        name: Its name.

    Example:
        >>> generator = SeedGenerator(seed=1)
        >>> first, second = generator.next(), generator.next()
        >>> bool((first == second).all()), generator.state.shape
        (False, (2,))
    """

    def __init__(self, seed: int | None = None, name: str | None = None) -> None:
        super().__init__(name)
        self.seed = None if seed is None else keys.checked_seed(seed)
        self.state: Variable | None = None

    def build(self) -> Variable:
        """Make the state, if there is none yet, and return it."""
        if self.state is None:
            path = f"{self.path}/state" if self.path else "state"
            spec = VariableSpec(
                shape=(2,),
                dtype="uint32",
                initializer=self._first_state,
                trainable=False,
                role="seed",
                name="state",
                path=path,
                owner=self,
            )
            made = make(spec)
            with storage.concretely():  # made by the library: no change that a compiled function makes of its own
                self.state = made
        return self.state

    def _first_state(self, key: Array, shape: Shape, dtype: str) -> Array:
        # the stream of a seed is the same wherever it is used: two layers with one seed agree
        return key if self.seed is None else registry.current().random.key(self.seed)

    def next(self) -> Array:
        """A fresh key; the state moves on."""
        state = self.build()
        pair = registry.current().random.split(state.value, 2)
        state.assign(pair[0])
        return pair[1]


_default: list[SeedGenerator] = []


def _default_generator() -> SeedGenerator:
    if not _default:
        _default.append(SeedGenerator(seed=keys.get_random_seed(), name="default"))
    return _default[0]


def set_random_seed(seed: int) -> None:
    """Make everything random that is built or drawn from now on follow from one number.

    Layers that are built already keep their streams.

    Args:
        seed: An integer from 0 to 2**64 - 1.

    Raises:
        ArgumentError: it is not such an integer.

    Example:
        >>> set_random_seed(3)
        >>> a = normal((2,))
        >>> set_random_seed(3)
        >>> bool((a == normal((2,))).all())
        True
    """
    keys.reset(seed)
    _default.clear()


def _key(seed: int | SeedGenerator | ArrayLike | None) -> Array:
    if seed is None:
        return _default_generator().next()
    if isinstance(seed, SeedGenerator):
        return seed.next()
    if isinstance(seed, Integral):  # NumPy's integers are
        return registry.current().random.key(int(seed))
    key = registry.current().arrays.asarray(unwrap(seed))
    if tuple(key.shape) != (2,) or str(key.dtype) != "uint32":
        raise ArgumentError(
            f"seed= got an array of shape {tuple(key.shape)} and dtype {key.dtype}",
            "a key is two uint32",
            "seed=SeedGenerator(1), seed=1, or a key from SeedGenerator.next()",
        )
    return key


Seed: TypeAlias = "int | SeedGenerator | ArrayLike | None"


def normal(shape: Shape, mean: float = 0.0, stddev: float = 1.0, dtype: str = "float32", seed: Seed = None) -> Array:
    """Normal draws.

    Args:
        shape: Shape of the result.
        mean: Mean.
        stddev: Standard deviation.
        dtype: A floating dtype.
        seed: An integer or key (the same draws every time), a `SeedGenerator`, or None for the global stream.

    Example:
        >>> normal((2, 3), seed=0).shape
        (2, 3)
    """
    return registry.current().random.normal(_key(seed), sizes(shape), dtype) * stddev + mean


def uniform(shape: Shape, minval: float = 0.0, maxval: float = 1.0, dtype: str = "float32", seed: Seed = None) -> Array:
    """Uniform draws in ``[minval, maxval)``; arguments as for `normal`.

    Example:
        >>> bool((uniform((4,), seed=0) < 1).all())
        True
    """
    return registry.current().random.uniform(_key(seed), sizes(shape), dtype, minval, maxval)


def truncated_normal(
    shape: Shape, mean: float = 0.0, stddev: float = 1.0, dtype: str = "float32", seed: Seed = None
) -> Array:
    """Normal draws within two standard deviations of the mean; arguments as for `normal`.

    Example:
        >>> bool((abs(truncated_normal((100,), seed=0)) <= 2).all())
        True
    """
    draws = registry.current().random.truncated_normal(_key(seed), -2.0, 2.0, sizes(shape), dtype)
    return draws * stddev + mean


def randint(shape: Shape, minval: int, maxval: int, dtype: str = "int32", seed: Seed = None) -> Array:
    """Integers in ``[minval, maxval)``.

    Example:
        >>> bool((randint((5,), 0, 3, seed=0) < 3).all())
        True
    """
    return registry.current().random.randint(_key(seed), sizes(shape), minval, maxval, dtype)


def bernoulli(shape: Shape, p: float = 0.5, seed: Seed = None) -> Array:
    """Booleans that are True with probability ``p``.

    Example:
        >>> str(bernoulli((5,), seed=0).dtype)
        'bool'
    """
    return registry.current().random.bernoulli(_key(seed), p, sizes(shape))


def categorical(logits: ArrayLike, shape: Shape | None = None, axis: int = -1, seed: Seed = None) -> Array:
    """Class numbers drawn from softmax(logits) along an axis.

    Shape:
        ``(..., classes) -> (...)``, or ``shape`` if given.

    Example:
        >>> int(categorical([0.0, 100.0], seed=0))
        1
    """
    array = registry.current().arrays.asarray(unwrap(logits))
    return registry.current().random.categorical(_key(seed), array, axis, shape)


def shuffle(x: ArrayLike, seed: Seed = None) -> Array:
    """The rows of ``x`` in random order; an integer n stands for ``arange(n)``.

    Example:
        >>> sorted(shuffle(4, seed=0).tolist())
        [0, 1, 2, 3]
    """
    rows = x if isinstance(x, int) else registry.current().arrays.asarray(unwrap(x))
    return registry.current().random.permutation(_key(seed), rows)


if not _typing.TYPE_CHECKING:  # a checker should see which names there are
    __getattr__ = _answering("random")


def __dir__() -> list[str]:
    return sorted(__all__)
