"""Where random keys come from: the global seed, the root of the object graph, the path within it.

Keys are derived on the host, with the reference backend's generator, whose bits are those of every backend.
"""

from __future__ import annotations

import secrets
import weakref
from collections import Counter
from numbers import Integral
from typing import Any, TypeAlias

import xxhash

from graftax.backend import registry
from graftax.core.errors import ArgumentError, CompileError
from graftax.core.short_traceback import door
from graftax.core.static_numbers import is_traced
from graftax.core.typedefs import Array, unwrap
from graftax.variables.graph.node import Branch, Node, outermost


class _Global:
    """The global seed, and how many roots have drawn from it since it was set."""

    def __init__(self) -> None:
        self.seed = secrets.randbits(32)
        self.epoch = 0
        self.roots = 0
        self.restored: frozenset[int] = frozenset()  # numbers of roots that come from checkpoints


_state = _Global()


def reset(seed: int) -> None:
    """Start over with a seed: roots count from zero again."""
    _state.seed, _state.roots, _state.restored = seed, 0, frozenset()
    _state.epoch += 1


def checked_seed(seed: object, instead: str = "seed=0") -> int:
    """Return the seed, if it is one.

    Raises:
        ArgumentError: it is no integer from 0 to 2**64 - 1.
        CompileError: it is a traced value.
    """
    array = unwrap(seed)
    if hasattr(array, "dtype") and hasattr(array, "shape") and not isinstance(array, Integral):
        _refuse_array(array)
    if not isinstance(seed, Integral) or isinstance(seed, bool) or not 0 <= int(seed) < 2**64:
        raise ArgumentError(f"seed={seed!r}", "a seed is an integer from 0 to 2**64 - 1", instead)
    return int(seed)


def _refuse_array(seed: Array) -> None:
    """Raise for an array in place of a seed."""
    shown = f"seed = {seed.dtype}{list(seed.shape)}"
    if is_traced(seed):
        raise CompileError(
            f"{shown}, a traced value",
            "a seed is a number of the program, and such a value is only known when it runs; a key may be an argument",
            "key = graftax.random.SeedGenerator(0).next() outside, and in the function graftax.random.normal(shape, "
            "seed=key); graftax.set_random_seed(0) outside",
        )
    raise ArgumentError(f"{shown}, an array", "a seed is an integer from 0 to 2**64 - 1", "int(seed)")


@door
def get_random_seed() -> int:
    """Return the global seed; drawn from the operating system if nobody set one.

    Example:
        >>> import graftax as gx
        >>> gx.set_random_seed(7)
        >>> get_random_seed()
        7
    """
    return _state.seed


def root_number(owner: Node | None) -> int:
    """Return the number of the root above ``owner``: two models with equal paths must not get equal weights."""
    root = outermost(owner) if owner is not None else None
    drawn = root._gx_seed_root if isinstance(root, Branch) else None
    if drawn is not None and drawn[0] == _state.epoch:
        return drawn[1]
    number = _state.roots
    while number in _state.restored:
        number += 1
    _state.roots = number + 1
    if isinstance(root, Branch):
        object.__setattr__(root, "_gx_seed_root", (_state.epoch, number))
    return number


def drawn_number(root: Branch) -> int | None:
    """Return the number of a root that has drawn from the global seed; None if it has not."""
    drawn = root._gx_seed_root
    return drawn[1] if drawn is not None and drawn[0] == _state.epoch else None


def assign_number(root: Branch, value: int) -> None:
    """Give a number to a root, and to no later root, until the global seed is set again."""
    _state.restored |= {value}
    object.__setattr__(root, "_gx_seed_root", (_state.epoch, value))


SeedState: TypeAlias = tuple[int, int, int, frozenset[int]]


def save_state() -> SeedState:
    """Return the state of the global seed, for `restore_state`."""
    return _state.seed, _state.epoch, _state.roots, _state.restored


def restore_state(state: SeedState) -> None:
    """Set the state of the global seed to one that `save_state` returned."""
    _state.seed, _state.epoch, _state.roots, _state.restored = state


_drawn: dict[int, tuple[weakref.ref[Any], int, Counter[str]]] = {}


def _count_draw(source: object, path: str) -> int:
    """Count a draw for a path, and return how many came before it since the global seed was set."""
    drawn = _drawn.get(id(source))
    if drawn is None or drawn[0]() is not source or drawn[1] != _state.epoch:
        drawn = _drawn[id(source)] = weakref.ref(source), _state.epoch, Counter()
        weakref.finalize(source, _drawn.pop, id(source), None)
    drawn[2][path] += 1
    return drawn[2][path] - 1


def variable_key(owner: Node | None, path: str, seed: int | None = None, source: object = None) -> Any:
    """Return the key for what hangs at ``path`` below the root of ``owner``: ``fold(fold(seed, root), path)``.

    A seed of its own makes it independent of the global seed and of the root; the path still counts, and how often
    ``source``, the object that has the seed, drew for such a path: two layers that share it differ.
    """
    random = registry.load("numpy").random
    if seed is None:
        key = random.fold_in(random.key(_state.seed), root_number(owner))
    else:
        root_number(owner)  # counted all the same, so that a seeded weight shifts nobody else's draws
        key = random.key(checked_seed(seed))
        if source is not None and (number := _count_draw(source, path)):
            key = random.fold_in(key, number)
    digest = xxhash.xxh3_64_intdigest(path.encode())
    return random.fold_in(random.fold_in(key, digest >> 32), digest & 0xFFFFFFFF)
