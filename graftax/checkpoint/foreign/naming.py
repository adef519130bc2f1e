"""Names of both sides as comparable components, without differences of separators, wrappers and common synonyms."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

Components = tuple[str, ...]

_SYNONYMS: tuple[tuple[frozenset[str], dict[str, str]], ...] = (
    (
        frozenset({"self_attn", "multihead_attn", "linear1", "linear2", "norm1", "norm2", "norm3"}),
        {
            "self_attn": "self_attention",
            "multihead_attn": "cross_attention",
            "linear1": "feedforward_intermediate",
            "linear2": "feedforward_output",
            "norm1": "self_attention_norm",
            "norm2": "cross_attention_norm",
            "norm3": "feedforward_norm",
        },
    ),
    (
        frozenset({"self_attn", "linear1", "linear2", "norm1", "norm2"}),
        {
            "self_attn": "self_attention",
            "linear1": "feedforward_intermediate",
            "linear2": "feedforward_output",
            "norm1": "self_attention_norm",
            "norm2": "feedforward_norm",
        },
    ),
)
"""Synonyms that apply only if all names of a set occur together: the set, and the meaning of each."""

_PROJECTIONS = (("query", "key", "value"), ("q", "k", "v"), ("Q", "K", "V"))
_OUTPUTS = ("out_proj", "o_proj", "c_proj", "proj", "output_dense", "out", "to_out")
"""What tells the projections of queries, keys and values apart, and names of that of the output beside them."""


def components_of_names(names: Sequence[str]) -> list[Components]:
    """Return names of a file as components, with synonyms replaced."""
    return with_synonyms([tuple(re.split(r"[./]", name)) if name else () for name in names])


def with_synonyms(found: list[Components]) -> list[Components]:
    """Return names of one side with those parts replaced that have another meaning beside each other."""
    beside: dict[Components, set[str]] = {}
    for parts in found:
        for i, part in enumerate(parts):
            beside.setdefault(parts[:i], set()).add(part)
    meant = {prefix: _meanings(parts_there) for prefix, parts_there in beside.items()}
    return [tuple(meant[parts[:i]].get(part, part) for i, part in enumerate(parts)) for parts in found]


def _meanings(names: set[str]) -> dict[str, str]:
    """Return the names with another meaning among names that occur together, each with its meaning."""
    words: dict[str, str] = {}
    for needed, synonyms in _SYNONYMS:
        if needed <= names and not set(words) & needed:
            words |= synonyms
    found = _projections_among(names - set(words))
    if found is not None:
        words |= dict(zip(found.names, ("query", "key", "value"), strict=True))
        outputs = [name for name in (*_OUTPUTS, *found.outputs) if name in names]
        words |= dict.fromkeys(outputs, "output") if len(set(outputs)) == 1 and "output" not in names else {}
    return words


class _Projections(NamedTuple):
    """The names of three projections, and what that of the output may be called beside them."""

    names: tuple[str, ...]
    outputs: tuple[str, ...]


def _projections_among(names: set[str]) -> _Projections | None:
    """Return the names of queries, keys and values, such as ``q_lin`` and ``k_lin``; None for none, or for several."""
    found: dict[tuple[str, ...], _Projections] = {}
    for name in names:
        for words in _PROJECTIONS:
            before, word, behind = name.partition(words[0])
            meant = tuple(f"{before}{one}{behind}" for one in words)
            if word and names.issuperset(meant):
                outputs = tuple(f"{before}{one}{behind}" for one in ("output", "out", "o", "O"))
                found.setdefault(meant, _Projections(meant, outputs))
    return next(iter(found.values())) if len(found) == 1 else None


_RANKS = {
    name: (family[0], rank)
    for family in (("query", "key", "value", "output"), ("forward_layer", "backward_layer"))
    for rank, name in enumerate(family)
}
"""The usual order of names. A file in another one is not sorted by it; but a program may define them in any order."""


def natural_key(parts: Components) -> tuple[tuple[str, int, str], ...]:
    """Return a sort key that puts ``h.2`` before ``h.10``, and ``dense`` before ``dense_1``."""
    return tuple(map(_split, parts))


def _split(part: str) -> tuple[str, int, str]:
    found = re.fullmatch(r"(.*?)_?(\d{1,9})(_reverse)?", part)
    if found is None:
        return (*_RANKS.get(part, (part, -1)), "")
    return found[1], int(found[2]), found[3] or ""


def is_order_known(name: Components, other: Components) -> bool:
    """Return True if two names tell their order, because they differ in a number."""
    for one, two in zip(name, other, strict=False):
        if one != two:
            a, b = _split(one), _split(two)
            return a[0] == b[0] and one not in _RANKS and two not in _RANKS
    return False


def do_names_deny(pairs: Sequence[tuple[str, str]]) -> bool:
    """Return True if names have words in common with each other's partners: these are crossed, or go round.

    A word counts if it tells the names of one side apart, and is not in the names that are paired.

    Args:
        pairs: Names of the program, each with one of the file.

    Example:
        >>> do_names_deny([("flow_stream", "rgb"), ("rgb_stream", "flow")])
        True
        >>> do_names_deny([("first", "rgb"), ("second", "flow")])
        False
    """
    ours, theirs = (_telling_words([pair[side] for pair in pairs]) for side in (0, 1))
    wants: list[list[int]] = []  # for each name of the program, the places of partners that have a word of it
    for here, there in zip(ours, theirs, strict=True):
        strange = {word for word in here if not are_common({word}, there)}
        wants.append(
            [
                place
                for place, (other, its) in enumerate(zip(ours, theirs, strict=True))
                if strange and are_common(strange, {word for word in its if not are_common(other, {word})})
            ]
        )
    return has_cycle(wants)


def has_cycle(following: Sequence[Sequence[int]]) -> bool:
    """Return True if a way leads from some place back to it."""
    left = set(range(len(following)))
    while ended := {place for place in left if not left.intersection(following[place])}:
        left -= ended
    return bool(left)


def _telling_words(names: Sequence[str]) -> list[set[str]]:
    words = [words_of(name) for name in names]
    counts = Counter(word for one in words for word in one)
    return [{word for word in one if counts[word] < len(names)} for one in words]


def words_of(name: str) -> set[str]:
    """Return the words in a name, in small letters, as one of several, and without numbers."""
    words = re.findall("[a-z]+", re.sub("(?<=[a-z])(?=[A-Z])", "_", name).lower())
    return {re.sub("ies$", "y", word) if len(word) > 4 else word for word in words}


def are_common(ours: set[str], theirs: set[str]) -> bool:
    """Return True if both have a word, or one has the beginning of another: ``enc`` of ``encoder``."""
    return any(
        a == b or (min(len(a), len(b)) > 2 and (a.startswith(b) or b.startswith(a))) for a in ours for b in theirs
    )
