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
from graftax.core.errors import ArgumentError
from graftax.core.short_traceback import door
from graftax.variables.graph.node import Branch, Node, outermost


class _Global:
    """The global seed, and how many roots have drawn from it since it was set."""

    def __init__(self) -> None:
        self.seed = secrets.randbits(32)
        self.epoch = 0
        self.roots = 0
        self.taken: frozenset[int] = frozenset()  # numbers of roots that were restored


_state = _Global()


def reset(seed: int) -> None:
    """Start over with a seed: roots count from zero again."""
    _state.seed, _state.roots, _state.taken = seed, 0, frozenset()
    _state.epoch += 1


def checked_seed(seed: object, instead: str = "seed=0") -> int:
    """Return the seed, if it is one.

    Raises:
        ArgumentError: it is no integer from 0 to 2**64 - 1.
    """
    if not isinstance(seed, Integral) or isinstance(seed, bool) or not 0 <= int(seed) < 2**64:
        raise ArgumentError(f"seed={seed!r}", "a seed is an integer from 0 to 2**64 - 1", instead)
    return int(seed)


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
    """Return a number for the root above ``owner``: two models with equal paths must not get equal weights."""
    root = outermost(owner) if owner is not None else None
    known = root._gx_seed_root if isinstance(root, Branch) else None
    if known is not None and known[0] == _state.epoch:
        return known[1]
    number = _state.roots
    while number in _state.taken:
        number += 1
    _state.roots = number + 1
    if isinstance(root, Branch):
        object.__setattr__(root, "_gx_seed_root", (_state.epoch, number))
    return number


def known_number(root: Branch) -> int | None:
    """Return the number of a root that has drawn from the global seed; None if it has not."""
    known = root._gx_seed_root
    return known[1] if known is not None and known[0] == _state.epoch else None


def number(root: Branch, value: int) -> None:
    """Let a root have that number, and no other that comes later, for the global seed that there is."""
    _state.taken |= {value}
    object.__setattr__(root, "_gx_seed_root", (_state.epoch, value))


Mark: TypeAlias = tuple[int, int, int, frozenset[int]]


def mark() -> Mark:
    """Note how the global seed is now, to go back there."""
    return _state.seed, _state.epoch, _state.roots, _state.taken


def back_to(point: Mark) -> None:
    """Go back to a mark."""
    _state.seed, _state.epoch, _state.roots, _state.taken = point


_drawn: dict[int, tuple[weakref.ref[Any], int, Counter[str]]] = {}


def _uses(source: object, path: str) -> int:
    """Return how often something drew for a path before, since the global seed was set."""
    known = _drawn.get(id(source))
    if known is None or known[0]() is not source or known[1] != _state.epoch:
        known = _drawn[id(source)] = weakref.ref(source), _state.epoch, Counter()
        weakref.finalize(source, _drawn.pop, id(source), None)
    known[2][path] += 1
    return known[2][path] - 1


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
        if source is not None and (number := _uses(source, path)):
            key = random.fold_in(key, number)
    digest = xxhash.xxh3_64_intdigest(path.encode())
    return random.fold_in(random.fold_in(key, digest >> 32), digest & 0xFFFFFFFF)
