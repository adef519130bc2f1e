"""Streams of random keys whose state is a Variable, the one of the global seed among them."""

from __future__ import annotations

from numbers import Integral
from threading import RLock
from typing import TypeAlias

import numpy as np

from graftax.backend import registry
from graftax.core.errors import ArgumentError
from graftax.core.scopes import ScopeStack
from graftax.core.short_traceback import door
from graftax.core.typedefs import Array, ArrayLike, Shape, unwrap
from graftax.variables import creation, keys
from graftax.variables.graph.module import Module
from graftax.variables.spec import VariableSpec
from graftax.variables.state import storage
from graftax.variables.variable import Variable, make

_making = RLock()
"""Held while a state is made: two threads that ask for one get the same."""


without_draws: ScopeStack[bool] = ScopeStack("without draws")
"""Scopes in which a draw raises `Drawn`, before anything has moved."""


class Drawn(BaseException):
    """Raised by a draw where a caller must know of it before; no error, and none that a user's code catches."""


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

    _gx_in_tree = False

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

    def _gx_lacks_state(self) -> bool:
        return "state" not in self.__dict__

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
                    with creation.reenter_scopes(self._gx_captured):
                        made = make(spec)
                    with storage.concretely():  # made by the library: no change that a compiled function makes itself
                        self.state = made
        state: Variable = self.__dict__["state"]
        return state

    def _first_state(self, key: Array, shape: Shape, dtype: str) -> Array:
        # the stream of a seed is the same wherever it is used: two layers with one seed agree
        return key if self.seed is None else registry.current().random.key(self.seed)

    @door
    def next(self) -> Array:
        """Return a fresh key; the state moves on. In eager code no two threads get the same."""
        if without_draws.read():
            raise Drawn
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

    def can_compile(self) -> bool:
        """Return whether compiled functions can draw from it."""
        return self.state._storage.backend.has("tracing")


_global: list[_GlobalStream] = []


def _is_usable() -> bool:
    return bool(_global) and (_global[0].can_compile() or not registry.current().has("tracing"))


def _global_stream() -> _GlobalStream:
    """Return the one stream of the global seed; no creator, template or trace under way has a part in its making."""
    if not _is_usable():
        with _making, storage.concretely(), creation.scopes.replaced(()):
            if _is_usable():  # another thread has just made it
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
    """Return the key of the global stream, and its number among the roots; None before the first draw."""
    if not _global:
        return None
    stream = _global[0]
    number = keys.drawn_number(stream)
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
    keys.assign_number(stream, state[2])


def stream_mark() -> tuple[Array, tuple[int, int] | None] | None:
    """Note how the global stream is now, to go back there; None if there is none."""
    return (_global[0].state.value, _global[0]._gx_seed_root) if _global else None


def back_to_stream(point: tuple[Array, tuple[int, int] | None] | None) -> None:
    """Go back to a mark; without one, to before the first draw."""
    if point is None:
        _global.clear()
    elif _global:
        _global[0].state.assign(point[0])
        object.__setattr__(_global[0], "_gx_seed_root", point[1])


@door
def set_random_seed(seed: int) -> None:
    """Make everything random that is built or drawn from now on follow from one number.

    Layers that are built already keep their weights and go on with their streams: for folds of a cross-validation that
    begin alike, set the seed and make a new model in each. Functions that are compiled already draw from the new seed,
    too.

    Threads share the stream of the program: where several draw from it, which numbers each one gets depends on who is
    first. A `SeedGenerator` of its own for each thread makes them repeatable.

    Args:
        seed: An integer from 0 to 2**64 - 1.

    Raises:
        ArgumentError: it is not such an integer.
        CompileError: it is a traced value, which is no number yet.
        StateError: it is called in a function that `vectorized_map` maps.

    Example:
        >>> set_random_seed(3)
        >>> from graftax.variables.random import normal
        >>> a = normal((2,))
        >>> set_random_seed(3)
        >>> bool((a == normal((2,))).all())
        True
    """
    seed = keys.checked_seed(seed, "set_random_seed(0)")
    if (frame := storage.frames.top) is not None:
        frame.start_streams_over()
    if _global or storage.frames.top is not None:  # a function being compiled starts over each time
        _global_stream().start_over(seed)
    keys.reset(seed)


def key_of(seed: int | SeedGenerator | ArrayLike | None) -> Array:
    """Return the key that a seed stands for: of a stream the next one."""
    if without_draws.read():
        raise Drawn
    if seed is None:
        return _global_stream().next()
    if isinstance(seed, SeedGenerator):
        return seed.next()
    if isinstance(seed, Integral):  # NumPy's integers are
        return registry.current().random.key(keys.checked_seed(seed))
    key = registry.current().arrays.asarray(unwrap(seed))
    if key.ndim == 0 and key.dtype.kind in "iu":  # an array for a number
        keys.checked_seed(key)
    if tuple(key.shape) != (2,) or str(key.dtype) != "uint32":
        raise ArgumentError(
            f"seed= got an array of shape {tuple(key.shape)} and dtype {key.dtype}",
            "a key is two uint32",
            "seed=SeedGenerator(1), seed=1, or a key from SeedGenerator.next()",
        )
    return key


Seed: TypeAlias = "int | SeedGenerator | ArrayLike | None"
