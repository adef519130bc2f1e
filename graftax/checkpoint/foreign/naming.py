"""Names of both sides as comparable components, without differences of separators, wrappers and common synonyms."""

from __future__ import annotations

import re
from collections.abc import Sequence

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
    *(
        (frozenset(names[:3]), dict(zip(names, ("query", "key", "value", "output"), strict=True)))
        for names in (
            ("q_proj", "k_proj", "v_proj", "out_proj"),
            ("q_proj", "k_proj", "v_proj", "o_proj"),
            ("q_proj", "k_proj", "v_proj", "c_proj"),
            ("q_proj", "k_proj", "v_proj", "proj"),
            ("query_dense", "key_dense", "value_dense", "output_dense"),
            ("query", "key", "value", "out"),
        )
    ),
)
"""Synonyms that apply only if all names of a set occur together: the set, and the meaning of each."""


def components_of_path(path: str) -> Components:
    """Return the components of a path, without the ``layers`` of a Sequential before a number."""
    if not path:
        return ()
    parts = path.split("/")
    return tuple(
        part
        for part, after in zip(parts, [*parts[1:], ""], strict=True)
        if not (part == "layers" and after.isdecimal())
    )


def components_of_names(names: Sequence[str]) -> list[Components]:
    """Return names of a file as components, with synonyms replaced."""
    found = [tuple(re.split(r"[./]", name)) if name else () for name in names]
    beside: dict[Components, set[str]] = {}
    for parts in found:
        for i, part in enumerate(parts):
            beside.setdefault(parts[:i], set()).add(part)
    meant: dict[Components, dict[str, str]] = {}
    for prefix, parts_there in beside.items():
        words: dict[str, str] = {}
        for needed, synonyms in _SYNONYMS:
            last = set(synonyms) - needed
            if needed <= parts_there and (not last or last & parts_there) and not set(words) & needed:
                words |= synonyms
        meant[prefix] = words
    return [tuple(meant[parts[:i]].get(part, part) for i, part in enumerate(parts)) for parts in found]


_RANKS = {
    name: (family[0], rank)
    for family in (("query", "key", "value", "output"), ("forward_layer", "backward_layer"))
    for rank, name in enumerate(family)
}


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
    for a, b in zip(natural_key(name), natural_key(other), strict=False):
        if a != b:
            return a[0] == b[0]
    return False
