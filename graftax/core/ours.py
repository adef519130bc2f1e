"""What is part of this package, and what comes from a program or another library."""

from __future__ import annotations

_PREFIX = __name__.partition(".")[0] + "."


def is_ours(thing: object) -> bool:
    """Tell whether a class or a function is part of this package.

    Example:
        >>> from graftax import ops
        >>> is_ours(ops.mean), is_ours(int), is_ours(max)
        (True, False, False)
    """
    return str(getattr(thing, "__module__", "")).startswith(_PREFIX)
