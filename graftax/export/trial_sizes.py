"""Numbers for sizes that are free, to try a program with."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence

from graftax.core.errors import ExportError
from graftax.export.run import holds, size_of
from graftax.export.signature import Signature

_MOST = 20_000


def trial_sizes(signature: Signature, least: int) -> dict[str, int]:
    """Return a number for each free size, the smallest from ``least`` on that constraints allow, different if they may.

    Raises:
        ExportError: there are none, as far as was looked.

    Example:
        >>> from graftax.export.spec import Spec
        >>> trial_sizes(Signature(lambda x: x, Spec("batch 2*time-4"), constraints=["time >= 2*batch"]), 3)
        {'batch': 3, 'time': 6}
    """
    names = signature.free
    sizes = [size for spec in signature.specs for size in spec.shape if isinstance(size, str)]
    conditions = [*signature.constraints, *(f"{size} >= 1" for size in sizes)]
    start = tuple(least + (i if least > 1 else 0) for i in range(len(names)))
    waiting, seen = deque([start]), {start}
    while waiting and len(seen) < _MOST:
        values = dict(zip(names, waiting.popleft(), strict=True))
        broken = next((one for one in conditions if not holds(one, values)), None)
        if broken is None:
            return values
        for name in _names(broken, names):
            more = tuple(value + (one == name) for one, value in values.items())
            if more not in seen:
                seen.add(more)
                waiting.append(more)
    raise ExportError(
        f"constraints={list(signature.constraints)!r} of {signature.specs}",
        f"no sizes from {least} on were found that fulfil them",
        "constraints that small sizes fulfil, since a program is tried when it is exported; or check=False",
    )


def _names(condition: str, names: Sequence[str]) -> list[str]:
    return [name for name in names if re.search(rf"\b{name}\b", condition)]


def numbers_of(shape: Sequence[int | str], values: dict[str, int]) -> tuple[int, ...]:
    """Return a shape where free sizes have these values."""
    return tuple(size_of(size, values) for size in shape)
