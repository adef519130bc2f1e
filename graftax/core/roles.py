"""Roles: what a Variable is for. In selectors they are written with a prefix, since any word may be a path."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from graftax.core.errors import SelectorError

ROLES = ("weight", "state", "slot", "metric", "seed", "counter", "hyper")
_PREFIX = "role:"


def prefixed(role: str) -> str:
    """Return a role as selectors write it.

    Example:
        >>> prefixed("slot")
        'role:slot'
    """
    return _PREFIX + role


def named_role(text: str) -> str | None:
    """Return the role that a selector names; None if it names none.

    Raises:
        SelectorError: there is no such role.

    Example:
        >>> named_role("role:slot"), named_role("slot")
        ('slot', None)
    """
    if not text.startswith(_PREFIX):
        return None
    role = text.removeprefix(_PREFIX)
    if role not in ROLES:
        near = [f'"{prefixed(name)}"; ' for name in get_close_matches(role.strip(), ROLES, n=1)]
        there = ", ".join(map(prefixed, ROLES))
        raise SelectorError(f"{text!r} as a selector", "there is no such role", f"{''.join(near)}there are {there}")
    return role


def check_roles(roles: Sequence[str]) -> tuple[str, ...]:
    """Return the roles, if there are such, and some.

    Raises:
        SelectorError: there are not.
    """
    if isinstance(roles, str):
        raise SelectorError(f"roles={roles!r}", "several roles are given as a tuple", f"roles=({roles!r},)")
    unknown = [role for role in roles if role not in ROLES]
    if unknown or not roles:
        reason = f"there is no role {unknown[0]!r}" if unknown else "without a role, it would see nothing"
        raise SelectorError(f"roles={roles!r}", reason, f"some of {', '.join(ROLES)}")
    return tuple(roles)
