"""The error for a name that there is not, with the one that was probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from graftax.errors import ArgumentError


def not_made(what: str, given: type) -> ArgumentError:
    """The error for a class in place of an object.

    Example:
        >>> print(not_made("regularizer", dict).instead)
        dict()
    """
    return ArgumentError(
        f"{what}={given.__name__}, a class",
        "an object of the class is needed, with its settings",
        f"{given.__name__}()",
    )


def unknown(what: str, given: Any, known: Iterable[str], otherwise: str = "") -> ArgumentError:
    """The error for ``what=given``, where ``known`` are the names that there are.

    Example:
        >>> print(unknown("loss", "msee", ["mse", "mae"]).instead)
        loss='mse'; there are mse, mae
    """
    names = list(known)
    near = [f"{what}={name!r}" for name in get_close_matches(str(given).lower(), names, n=1)]
    there = f"there are {', '.join(names)}"
    return ArgumentError(
        f"{what}={given!r}",
        "there is none of that name",
        "; ".join([*near, there, *filter(None, [otherwise])]),
    )
