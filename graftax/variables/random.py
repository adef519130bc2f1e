"""Random numbers whose state is a Variable: saved, restored, threaded through compiled functions."""

from __future__ import annotations

import typing as _typing
from numbers import Integral
from threading import RLock
from typing import Any, TypeAlias

import numpy as np

from graftax.backend import registry
from graftax.core.errors import ArgumentError
from graftax.core.namespaces import answering as _answering
from graftax.core.short_traceback import door
from graftax.core.typedefs import Array, ArrayLike, Shape, unwrap
from graftax.variables import creation, distributions, keys
from graftax.variables.graph.module import Module
from graftax.variables.keys import get_random_seed as get_random_seed
from graftax.variables.spec import VariableSpec, sizes
from graftax.variables.state import storage
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


_making = RLock()
"""Held while a state is made: two threads that ask for one get the same."""


class SeedGenerator(Module):
    """A stream of random keys; its state is a Variable of two uint32 with the role ``"seed"``.

    The state is made at the first draw, or as soon as somebody asks for it: ``state``, ``variables``, `graftax.state`,
    a checkpoint, a copy. So a checkpoint always has it, and a model that holds the generator resumes exactly.

    Args:
        seed: Fixes the stream. Defaults to None: it follows from the global seed and the generator's path, so every
            layer has a stream of its own, and adding a layer changes no other's.
        name: Its name. Defaults to None, the class name in snake case.

    Example:
        >>> generator = SeedGenerator(seed=1)
        >>> first, second = generator.next(), generator.next()
        >>> bool((first == second).all()), generator.state.shape
        (False, (2,))
    """

    def __init__(self, seed: int | None = None, name: str | None = None) -> None:
        super().__init__(name)
        self.seed = None if seed is None else keys.checked_seed(seed)
        if "state" in self.__dict__:  # made anew
            del self.state

    @property
    def state(self) -> Variable:
        """Return the Variable that has the key from which the next draw follows."""
        return self.build()

    @state.setter
    def state(self, value: Variable) -> None:
        self.__dict__["state"] = value  # where the object graph is looked for

    @state.deleter
    def state(self) -> None:
        del self.__dict__["state"]

    def _gx_ensure_state(self) -> None:
        """Make the state: without a seed, from the path that the generator has now."""
        self.build()

    def build(self) -> Variable:
        """Make the state, if there is none yet, and return it."""
        if "state" not in self.__dict__:
            path = f"{self._gx_path}/state" if self._gx_path else "state"
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
            with _making:
                if "state" not in self.__dict__:  # else another thread has just made it
                    with creation.remembered(self._gx_captured):
                        made = make(spec)
                    with storage.concretely():  # made by the library: no change that a compiled function makes itself
                        self.state = made
        state: Variable = self.__dict__["state"]
        return state

    def _first_state(self, key: Array, shape: Shape, dtype: str) -> Array:
        # the stream of a seed is the same wherever it is used: two layers with one seed agree
        return key if self.seed is None else registry.current().random.key(self.seed)

    def next(self) -> Array:
        """Return a fresh key; the state moves on. In eager code no two threads get the same."""
        state = self.state
        drawn = []

        def advance(key: Array) -> Array:
            pair = registry.current().random.split(key, 2)
            drawn.append(pair[1])
            return pair[0]

        if isinstance(state, Variable):
            state._storage.revise(advance)
        else:  # what a creator has put in its place
            state.assign(advance(state.value))
        return drawn[-1]


class _GlobalStream(SeedGenerator):
    """The stream of the global seed; whatever has drawn from it, compiled or not, draws from it for good."""

    def _first_state(self, key: Array, shape: Shape, dtype: str) -> Array:
        return registry.current().random.key(keys.get_random_seed())

    def start_over(self, seed: int) -> None:
        """Go to where a new stream of that seed begins."""
        self.state.assign(registry.load("numpy").random.key(seed))

    def compiles(self) -> bool:
        """Return whether compiled functions can draw from it."""
        return self.state._storage.backend.has("tracing")


_global: list[_GlobalStream] = []


def _fits() -> bool:
    return bool(_global) and (_global[0].compiles() or not registry.current().has("tracing"))


def _global_stream() -> _GlobalStream:
    """Return the one stream of the global seed; no creator, template or trace under way has a part in its making."""
    if not _fits():
        with _making, storage.concretely(), creation.scopes.replaced(()):
            if _fits():  # another thread has just made it
                return _global_stream()
            stream = _GlobalStream(name="default")
            if _global:  # of a backend that does not compile: goes on here
                object.__setattr__(stream, "_gx_seed_root", _global[0]._gx_seed_root)
                stream.state.assign(np.asarray(_global[0].state.value))
            stream.build()
            _global[:] = [stream]
    keys.root_number(_global[0])  # as the first draw after a seed counts
    return _global[0]


def stream_state() -> list[int] | None:
    """The key of the global stream, and its number among the roots; None before the first draw."""
    if not _global:
        return None
    stream = _global[0]
    number = keys.known_number(stream)
    if number is None:  # it has not drawn since the seed was set
        return None
    return [*(int(part) for part in stream.state.numpy()), number]


def set_stream_state(state: list[int] | None) -> None:
    """Let the global stream go on from there; None: from where the seed begins."""
    if state is None:
        if _global:
            _global[0].start_over(keys.get_random_seed())
        return
    stream = _global_stream()
    stream.state.assign(np.asarray(state[:2], "uint32"))
    keys.number(stream, state[2])


def stream_mark() -> tuple[Array, tuple[int, int] | None] | None:
    """How the global stream is now, to go back there; None if there is none."""
    return (_global[0].state.value, _global[0]._gx_seed_root) if _global else None


def back_to_stream(point: tuple[Array, tuple[int, int] | None] | None) -> None:
    """Be as at a mark; without one, as before the first draw."""
    if point is None:
        _global.clear()
    elif _global:
        _global[0].state.assign(point[0])
        object.__setattr__(_global[0], "_gx_seed_root", point[1])


@door
def set_random_seed(seed: int) -> None:
    """Make everything random that is built or drawn from now on follow from one number.

    Layers that are built already keep their streams. Functions that are compiled already draw from the new seed, too.

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
    seed = keys.checked_seed(seed, "set_random_seed(0)")
    if _global or storage.frames.top is not None:  # a function being compiled starts over each time
        _global_stream().start_over(seed)
    keys.reset(seed)


def _key(seed: int | SeedGenerator | ArrayLike | None) -> Array:
    if seed is None:
        return _global_stream().next()
    if isinstance(seed, SeedGenerator):
        return seed.next()
    if isinstance(seed, Integral):  # NumPy's integers are
        return registry.current().random.key(keys.checked_seed(seed))
    key = registry.current().arrays.asarray(unwrap(seed))
    if tuple(key.shape) != (2,) or str(key.dtype) != "uint32":
        raise ArgumentError(
            f"seed= got an array of shape {tuple(key.shape)} and dtype {key.dtype}",
            "a key is two uint32",
            "seed=SeedGenerator(1), seed=1, or a key from SeedGenerator.next()",
        )
    return key


Seed: TypeAlias = "int | SeedGenerator | ArrayLike | None"


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
    return _scaled(registry.current().random.normal(_key(seed), shape, dtype), *moments)


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
    distributions.ordered(low, high)
    return registry.current().random.uniform(_key(seed), shape, dtype, low, high)


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
    draws = registry.current().random.truncated_normal(_key(seed), -2.0, 2.0, shape, dtype)
    return _scaled(draws, *moments)


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
    return registry.current().random.randint(_key(seed), shape, low, high, dtype)


@door
def bernoulli(shape: Shape, p: ArrayLike = 0.5, seed: Seed = None) -> Array:
    """Draw booleans that are True with probability ``p``: a number from 0 to 1, or an array that broadcasts.

    Example:
        >>> str(bernoulli((5,), seed=0).dtype)
        'bool'
    """
    shape = distributions.shape_first("bernoulli", shape)
    p = distributions.parameter("p", p, distributions.SHARE, shape, "float32")
    return registry.current().random.bernoulli(_key(seed), p, shape)


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
    return registry.current().random.categorical(_key(seed), array, axis, shape)


@door
def shuffle(x: ArrayLike, seed: Seed = None) -> Array:
    """Return the rows of ``x`` in random order; an integer n stands for ``arange(n)``.

    Raises:
        ArgumentError: a single number that is no integer from 0 up.

    Example:
        >>> sorted(shuffle(4, seed=0).tolist())
        [0, 1, 2, 3]
    """
    rows = distributions.rows(x)
    return registry.current().random.permutation(_key(seed), rows)


def _moments(mean: ArrayLike, stddev: ArrayLike, shape: Shape, dtype: str) -> tuple[Any, Any]:
    return (
        distributions.parameter("mean", mean, distributions.NUMBER, shape, dtype),
        distributions.parameter("stddev", stddev, distributions.SPREAD, shape, dtype),
    )


def _scaled(draws: Any, mean: Any, stddev: Any) -> Array:
    return draws * stddev + mean  # type: ignore[no-any-return]


if not _typing.TYPE_CHECKING:  # a checker should see which names there are
    __getattr__ = _answering("random")


def __dir__() -> list[str]:
    return sorted(__all__)
