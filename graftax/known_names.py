"""The error for a name that there is not, with the one that was probably meant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, TypeAlias

from graftax.errors import ArgumentError, MissingAttributeError

Elsewhere: TypeAlias = Mapping[str, tuple[str, str]]
"""Names that other libraries have, as `squashed` gives them: why there is none here, and what to write instead."""


def unknown(
    what: str, given: Any, known: Iterable[str], otherwise: str = "", elsewhere: Elsewhere | None = None
) -> ArgumentError:
    """The error for ``what=given``, where ``known`` are the names that there are.

    Args:
        what: What is called so.
        given: The name.
        known: The names that there are.
        otherwise: What else may be written.
        elsewhere: Names that other libraries have; they are no misspellings.

    Example:
        >>> print(unknown("loss", "msee", ["mse", "mae"]).instead)
        loss='mse'; there are mse, mae
    """
    names = list(known)
    answer = (elsewhere or {}).get(squashed(str(given)))
    near = [] if answer else [f"{what}={name!r}" for name in similar(str(given), names)]
    there = f"there are {', '.join(names)}"
    return ArgumentError(
        f"{what}={given!r}",
        answer[0] if answer else "there is none of that name",
        "; ".join([*([answer[1]] if answer else near), there, *filter(None, [otherwise])]),
    )


def missing(module: str, given: str, known: Iterable[str], elsewhere: Elsewhere) -> MissingAttributeError:
    """The error for an attribute that a module of classes does not have.

    Args:
        module: The name of the module.
        given: The attribute.
        known: The classes that there are.
        elsewhere: Names that other libraries have.

    Example:
        >>> print(missing("graftax.losses", "MSE", ["MeanSquaredError"], {"mse": ("", "MeanSquaredError")}).instead)
        MeanSquaredError
    """
    names = list(known)
    answer = elsewhere.get(squashed(given))
    near = [f"{module}.{name}" for name in similar(given, names)]
    return MissingAttributeError(
        f"{module}.{given}",
        answer[0] if answer else "there is none of that name",
        answer[1] if answer else near[0] if near else f"there are {', '.join(names)}",
    )


def squashed(name: str) -> str:
    """A name without what spellings differ in: ``Log_Cosh`` and ``logcosh`` are one.

    Example:
        >>> squashed("Log_Cosh")
        'logcosh'
    """
    return "".join(filter(str.isalnum, name)).lower()


def similar(given: str, known: Iterable[str]) -> list[str]:
    """The known name that was probably meant, in a list, or nothing.

    In a word of up to four letters another letter is another word (auc is not acc); what is misspelt are letters in
    another order, or one too few or too many.

    Example:
        >>> similar("MeanSquareError", ["mean_squared_error"]), similar("auc", ["acc"]), similar("mes", ["mse"])
        (['mean_squared_error'], [], ['mse'])
    """
    by_word = {squashed(name): name for name in known}
    word = squashed(given)
    if len(word) > 4:
        return [by_word[one] for one in get_close_matches(word, by_word, n=1)]
    return [by_word[one] for one in get_close_matches(word, by_word, n=5) if _slip(word, one)][:1]


def _slip(word: str, other: str) -> bool:
    short, long = sorted((word, other), key=len)
    if len(short) == len(long):
        return sorted(short) == sorted(long)
    return len(long) - len(short) == 1 and any(long[:i] + long[i + 1 :] == short for i in range(len(long)))
