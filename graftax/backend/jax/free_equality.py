"""Free sizes that are compared with ``==`` by the user: JAX says False wherever it cannot decide, and we say so.

With that answer a program is written in which a branch is lost without a word: ``if x.shape[0] == 1`` would be False
for every batch. JAX needs the answer itself, to look sizes up in its caches, so it is the comparisons in the user's
own lines that raise, and only those of sizes of our exports.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from jax import export as jax_export

from graftax.backend.jax.foreign_sizes import by_size
from graftax.core import user_line

_OURS = "_graftax_export"
_kind: Any = type(jax_export.symbolic_shape("n")[0])
_equal = _kind.__eq__


def watch_comparisons(scope: object) -> Any:
    """Return a scope of sizes, of which the user's comparisons raise where nothing decides them."""
    setattr(scope, _OURS, True)
    _kind.__eq__, _kind.__ne__ = _is_equal, _is_unequal
    return scope


def _is_equal(size: object, other: object) -> bool:
    found: bool = _equal(size, other)
    if not found and _is_ours(size):
        _check(size, other, sys._getframe(1))
    return found


def _is_unequal(size: object, other: object) -> bool:
    found: bool = _equal(size, other)
    if not found and _is_ours(size):
        _check(size, other, sys._getframe(1))
    return not found


def _is_ours(size: object) -> bool:
    return bool(getattr(getattr(size, "scope", None), _OURS, False))


def _check(size: object, other: object, frame: FrameType) -> None:
    """Raise if the line that compares is the user's, and sizes may be equal or not.

    Raises:
        ExportError: they may.
    """
    if type(other) not in (int, _kind) or not user_line.is_users(frame) or _differ(size, other):
        return
    equal, least, most = f"{size} == {other}", f"{other} + 1", f"{other} - 1"
    if isinstance(other, int):
        least, most = str(other + 1), str(other - 1)
    ways = [equal, f"{size} >= {least}", *([f"{size} <= {most}"] if other != 1 else ())]  # there are no sizes below 1
    raise by_size(equal, *ways)


def _differ(size: Any, other: Any) -> bool:
    """Tell whether one is larger for all values of the sizes."""
    for larger, smaller in ((size, other), (other, size)):
        try:
            if larger > smaller:
                return True
        except Exception:  # noqa: BLE001 - JAX cannot decide it, which has another class in each version
            continue
    return False
