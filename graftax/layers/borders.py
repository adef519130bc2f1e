"""Borders: how many values windows find before and after each axis of space, and which."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any, TypeAlias

import numpy as np

from graftax import ops
from graftax.core.errors import ArgumentError, ShapeError
from graftax.core.typedefs import Array, Shape

Pairs: TypeAlias = tuple[tuple[int, int], ...]
Padding: TypeAlias = str | int | Sequence[int] | Sequence[Sequence[int]]

_MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}
"""Modes of padding, as `ops.pad` calls them."""


def standardize_padding(value: Padding, space: int, words: Sequence[str] = (), name: str = "padding") -> str | Pairs:
    """Return a padding as a word, or as a pair of numbers for each axis of space.

    Args:
        value: A word; a number for all sides of all axes; a number, or a pair, for each axis.
        space: How many axes there are.
        words: The words that are known.
        name: What the argument is called.

    Raises:
        ArgumentError: it is something else.
    """
    if isinstance(value, str) and value in words:
        return value
    given: Any = value.tolist() if isinstance(value, np.ndarray) else value
    pairs: list[tuple[int, int]] = []
    if isinstance(given, list | tuple):
        if space == 1 and len(given) == 2 and not any(isinstance(part, list | tuple) for part in given):
            given = [given]
        if len(given) == space:
            pairs = [_pair(part) for part in given]
    elif not isinstance(given, str):
        pairs = [_pair(given)] * space
    if not pairs or any(n < 0 for pair in pairs for n in pair):
        known = "".join(f'"{word}" or ' for word in words)
        example = "(1, 0)" if space == 1 else f"{((1, 0),) * space}"
        raise ArgumentError(
            f"{name}={value!r:.60}",
            f"it is {'one of its words, or ' if words else ''}a number of values, from 0, for all of {space} axes of "
            "space, or for each a number or a pair",
            f"{known}{name}=1 or {name}={example}",
        )
    return tuple(pairs)


def _pair(value: object) -> tuple[int, int]:
    try:
        if isinstance(value, list | tuple):
            low, high = (_size(n) for n in value)
            return low, high
        return _size(value), _size(value)
    except (TypeError, ValueError):
        return -1, -1


def _size(value: Any) -> int:
    number = -1 if isinstance(value, bool | np.bool_) else index(value)
    return number if number < 2**31 else -1


def check_mode(mode: str | None, padding: str | Pairs, usual: str | None) -> str | None:
    """Return what stands in the borders, if it is known and there are borders.

    Args:
        mode: What was given.
        padding: As `standardize_padding` returned it.
        usual: What is meant by default.

    Raises:
        ArgumentError: there is no such mode, or nothing would use it.
    """
    if mode is usual or (isinstance(mode, str) and mode == usual):
        return mode
    if not isinstance(mode, str) or mode not in _MODES:
        words = " or ".join(f'"{word}"' for word in ([usual] if usual else []) + list(_MODES))
        raise ArgumentError(f"padding_mode={mode!r:.60}", "there is no such padding_mode", words)
    if padding == "causal":
        raise ArgumentError(
            f'padding="causal", padding_mode={mode!r}',
            "values from further on would show outputs what comes later",
            'padding="causal" alone, which puts zeros in front',
        )
    if padding == "valid" or (not isinstance(padding, str) and not any(map(any, padding))):
        raise ArgumentError(
            f"padding={padding!r}, padding_mode={mode!r}",
            "without borders nothing would use it",
            f'padding="same", padding_mode={mode!r}',
        )
    return mode


def fill_borders(
    x: Array, padding: str | Pairs, mode: str | None, window: Shape, strides: Shape
) -> tuple[Array, str | Pairs]:
    """Return the array with borders of its own values, and the padding that is left to do.

    Args:
        x: ``(batch, *space, channels)``.
        padding: As `standardize_padding` returned it.
        mode: As `check_mode` returned it.
        window: How many values a window spans on each axis.
        strides: Its steps.

    Raises:
        ShapeError: the input has too few values for borders of them.
    """
    if mode not in _MODES:
        return x, padding
    sizes = tuple(x.shape[1:-1])
    if isinstance(padding, str):  # "same"
        totals = [max((-(-n // s) - 1) * s + w - n, 0) for n, w, s in zip(sizes, window, strides, strict=True)]
        padding = tuple((total // 2, total - total // 2) for total in totals)
    for n, pair in zip(sizes, padding, strict=True):
        if max(pair) > (n - 1 if mode == "reflect" else n if mode == "circular" else max(pair) * n):
            raise ShapeError(
                f"padding {pair} with padding_mode={mode!r} of an axis of {n} values",
                "there are not so many values to take for the border",
                'padding_mode="replicate", which repeats the last value, or a larger input',
            )
    return ops.pad(x, ((0, 0), *padding, (0, 0)), _MODES[mode]), "valid"
