"""Names that there are not: the one that was probably meant, and the error that says so."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from graftax.core.errors import ArgumentError

ForeignNames: TypeAlias = Mapping[str, tuple[str, str]]
"""Names that other libraries have, as `squash` gives them: why there is none here, and what to write instead."""

_SHORT = 5
"""Up to so many letters, another letter makes another name: slips leave letters out, double or swap them."""
_LEAST_PREFIX = 4


def closest(written: str, names: Iterable[str]) -> str | None:
    """Return the name that was probably meant, if one is close: another spelling, a slip of the keys, or how it begins.

    Close names of other things are none: numbers in them are equal, short names differ by letters that are left out,
    doubled or swapped, and no other name is as close.

    Example:
        >>> closest("layer_norm", ["LayerNormalization", "Dense"]), closest("Rellu", ["elu", "relu"])
        ('LayerNormalization', 'relu')
        >>> print(closest("auc", ["acc", "mae"]), closest("Conv4D", ["Conv2D"]))
        None None
    """
    wanted = squash(written)
    known = {squash(name): name for name in reversed(list(names))}
    if not wanted or wanted in known:
        return known.get(wanted)
    numbers = re.findall(r"\d+", wanted)
    alike = [(name, original) for name, original in known.items() if re.findall(r"\d+", name) == numbers]
    near = sorted((slips, original) for name, original in alike if (slips := _slips(wanted, name)) is not None)
    if near:
        return near[0][1] if [slips for slips, _ in near].count(near[0][0]) == 1 else None
    begun = [original for name, original in known.items() if name.startswith(wanted)]
    return begun[0] if len(begun) == 1 and len(wanted) >= _LEAST_PREFIX else None


def not_made(argument: str, kind: type) -> ArgumentError:
    """Return the error for a class in place of an object.

    Example:
        >>> print(not_made("regularizer", dict).instead)
        dict()
    """
    return ArgumentError(
        f"{argument}={kind.__name__}, a class",
        "an object of the class is needed, with its settings",
        f"{kind.__name__}()",
    )


def unknown(
    argument: str, value: object, choices: Iterable[str], otherwise: str = "", foreign: ForeignNames | None = None
) -> ArgumentError:
    """Return the error for ``argument=value`` where the value is none of the names that exist.

    Args:
        argument: The argument.
        value: Its value.
        choices: The names that exist.
        otherwise: What may be passed besides names. Defaults to ``""``.
        foreign: Names that other libraries have; they are no misspellings. Defaults to None, no names.

    Example:
        >>> print(unknown("loss", "msee", ["mse", "mae"]).instead)
        loss='mse'; there are mse, mae
        >>> print(unknown("loss", "l2", ["mse"], foreign={"l2": ("it has another name", "loss='mse'")}).instead)
        loss='mse'; there are mse
    """
    names = list(choices)
    answer = (foreign or {}).get(squash(str(value)))
    near = closest(value, names) if isinstance(value, str) and answer is None else None
    meant = answer[1] if answer else f"{argument}={near!r}" if near else ""
    there = f"there are {', '.join(names)}"
    return ArgumentError(
        f"{argument}={value!r}",
        answer[0] if answer else "there is no such name",
        "; ".join(filter(None, [meant, there, otherwise])),
    )


def squash(name: str) -> str:
    """Return a name without what spellings differ in: ``Log_Cosh`` and ``logcosh`` are one.

    Example:
        >>> squash("Log_Cosh")
        'logcosh'
    """
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _slips(written: str, name: str) -> int | None:
    """Return the number of slips between a name and what was written; None if they differ in more."""
    if len(written) <= _SHORT:
        swapped = any(written == name[:i] + name[i + 1] + name[i] + name[i + 2 :] for i in range(len(name) - 1))
        left_out = len(written) > 1 and any(written == name[:i] + name[i + 1 :] for i in range(1, len(name)))
        doubled = any(written == name[: i + 1] + name[i:] for i in range(len(name)))
        return 1 if swapped or left_out or doubled else None
    allowed = 1 if len(written) < 10 else 2
    found = _distance(written, name) if abs(len(written) - len(name)) <= allowed else allowed + 1
    return found if found <= allowed else None


def _distance(a: str, b: str) -> int:
    """Return how many letters were put in, left out, exchanged or swapped with the next one."""
    rows = [list(range(len(b) + 1))]
    for i, letter in enumerate(a, start=1):
        row = [i]
        for j, other in enumerate(b, start=1):
            best = min(row[-1] + 1, rows[-1][j] + 1, rows[-1][j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == b[j - 2] and a[i - 2] == other:
                best = min(best, rows[-2][j - 2] + 1)
            row.append(best)
        rows.append(row)
    return rows[-1][-1]
