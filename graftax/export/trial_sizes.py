"""Numbers for sizes that are free, to try a program with."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence

from graftax.core.errors import ExportError
from graftax.export.manifest import size_of
from graftax.export.signature import Signature

_MOST = 20_000
_FEW = 500  # for a second value, which there need not be
_FURTHER = (3, 2, 5, 7, 1)


def trial_sizes(signature: Signature, least: int) -> dict[str, int]:
    """Return a number for each free size, the smallest from ``least`` on that constraints allow, different if they may.

    Raises:
        ExportError: there are none, as far as was looked.

    Example:
        >>> from graftax.export.spec import Spec
        >>> trial_sizes(Signature(lambda x: x, Spec("batch 2*time-4"), constraints=["time >= 2*batch"]), 3)
        {'batch': 3, 'time': 6}
    """
    start = tuple(least + (i if least > 1 else 0) for i in range(len(signature.free)))
    found = _nearest_sizes(signature, start, _MOST)
    if found is None:
        raise ExportError(
            f"constraints={list(signature.constraints)!r} of {signature.specs}",
            f"no sizes from {least} on were found that fulfil them",
            "constraints that small sizes fulfil, since a program is tried when it is exported; or check=False",
        )
    return found


def trials_of_sizes(signature: Signature, least: int, other: int) -> list[dict[str, int]]:
    """Return numbers for the free sizes, in which each has two values, odd and even, as far as constraints allow.

    Args:
        signature: What the function takes.
        least: Where the first ones begin.
        other: Where the second ones begin.

    Raises:
        ExportError: there are none, as far as was looked.

    Example:
        >>> from graftax.export.spec import Spec
        >>> trials_of_sizes(Signature(lambda x: x, Spec("batch time"), constraints=["time >= 8"]), 3, 1)
        [{'batch': 3, 'time': 8}, {'batch': 1, 'time': 11}]
    """
    first = trial_sizes(signature, least)
    if not first:
        return [first]
    small = _nearest_sizes(signature, tuple(other + (i if other > 1 else 0) for i in range(len(first))), _FEW) or first
    best: dict[str, int] | None = None
    for more in _FURTHER:
        kept = {
            name for name in first if small[name] != first[name] and (small[name] == 1 or _flips(first, small, name))
        }
        found = _nearest_sizes(
            signature, tuple(small[one] if one in kept else first[one] + more for one in first), _FEW
        )
        if found is not None and (best is None or _gain(first, found) > _gain(first, best)):
            best = found
        if best is not None and _gain(first, best) == (len(first), len(first)):
            break
    trials = [first] if best is None or best == first else [first, best]
    for name in first:
        for more in _FURTHER:
            if len({one[name] for one in trials}) == 1:
                found = _nearest_sizes(signature, tuple(first[one] + more * (one == name) for one in first), _FEW)
                trials += [found] if found is not None and found[name] != first[name] else []
    return trials


def _flips(first: dict[str, int], then: dict[str, int], name: str) -> bool:
    return (first[name] - then[name]) % 2 == 1


def _gain(first: dict[str, int], then: dict[str, int]) -> tuple[int, int]:
    """Return the number of sizes that differ, and of those that change between odd and even, or are 1."""
    others = [name for name in first if first[name] != then[name]]
    return len(others), sum(then[name] == 1 or _flips(first, then, name) for name in others)


def _nearest_sizes(signature: Signature, start: tuple[int, ...], most: int) -> dict[str, int] | None:
    """Return the nearest numbers from here on that fulfil all constraints; None if there are none among so many."""
    names = signature.free
    sizes = [size for spec in signature.specs for size in spec.shape if isinstance(size, str)]
    conditions = [*signature.constraints, *(f"{size} >= 1" for size in sizes)]
    waiting, seen = deque([start]), {start}
    while waiting and len(seen) < most:
        values = dict(zip(names, waiting.popleft(), strict=True))
        broken = next((one for one in conditions if not size_of(one, values)), None)
        if broken is None:
            return values
        for name in _names(broken, names):
            more = tuple(value + (one == name) for one, value in values.items())
            if more not in seen:
                seen.add(more)
                waiting.append(more)
    return None


def _names(condition: str, names: Sequence[str]) -> list[str]:
    return [name for name in names if re.search(rf"\b{name}\b", condition)]


def numbers_of(shape: Sequence[int | str], values: dict[str, int]) -> tuple[int, ...]:
    """Return a shape where free sizes have these values."""
    return tuple(size_of(size, values) for size in shape)
