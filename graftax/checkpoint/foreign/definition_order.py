"""Whether the names of a file can be in the order in which their layers were defined, or somebody put them in another.

Libraries that read safetensors or a nested dict of JAX sort what they return, and a program may save it again in a
format that keeps the order that it was given. Programs also write sets, or lists that they reversed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby, pairwise
from typing import Any, cast

from graftax.checkpoint.foreign.naming import Components, natural_key

_MEAN_RUN = (
    8  # names, in a file that was put together of some sorted ones; where layers are defined, runs are mostly shorter
)
_LETTER = re.compile(r"_[a-zA-Z]$")  # counts like a number: block_a, block_b
_NO_CHANCE = 5  # layers of different names that are sorted: by chance, one file of 120


def is_definition_order(names: Sequence[str]) -> bool:
    """Return False if nobody defines layers in this order: they are sorted, or their arrays are apart.

    Args:
        names: The names, in the order of the file.
    """
    parts = [tuple(re.split(r"[./]", name)) for name in names]
    layers = [layer for layer, _ in groupby(one[:-1] for one in parts)]
    return len(layers) == len(set(layers)) and not _are_sorted(parts)


def _are_sorted(parts: Sequence[Components]) -> bool:
    """Return True if names are sorted, in one run or a few long ones, and not by chance.

    It is no chance where number 10 comes before number 2, or the bias of a layer before its weight.
    """
    words = {tuple(_LETTER.sub("", word) for word, _, _ in natural_key(one[:-1])) for one in parts}
    by_letters, by_number = list(parts), [natural_key(one) for one in parts]
    for keys in cast("list[list[Any]]", [by_letters, by_number]):
        runs = 1 + sum(one > other for one, other in pairwise(keys))
        if runs == 1 and len(words) >= _NO_CHANCE:
            return True
        if (runs == 1 or len(parts) >= _MEAN_RUN * runs) and any(
            keys[i] < keys[i + 1] and _is_sorted_pair(*parts[i : i + 2]) for i in range(len(parts) - 1)
        ):
            return True
    return False


def _is_sorted_pair(one: Components, other: Components) -> bool:
    """Return True if two names that follow one another are in an order in which nobody defines them."""
    place = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None)
    if place is None:
        return False
    (word, number, _), (next_word, next_number, _) = natural_key((one[place], other[place]))
    if word == next_word:
        return -1 < next_number < number
    is_last = place == len(one) - 1 == len(other) - 1
    return is_last and "bias" in word and re.fullmatch(r"kernel|(in_proj_)?weight(_[ih]h_l)?", next_word) is not None
