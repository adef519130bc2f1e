"""Suggestions for misspelt paths. Candidates are found by common components, so thousands of paths cost little."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher
from typing import TypeVar

from graftax.core.typedefs import Shape

K = TypeVar("K")

_MOST = 20  # the most candidates of one kind that are compared letter by letter


class Nearest:
    """An index of candidate paths, with the shapes of their arrays, if known."""

    def __init__(self, paths: Iterable[tuple[str, Shape | None]]) -> None:
        self._shapes = dict(paths)
        self._holes: dict[tuple[str, ...], list[str]] = {}  # paths by all components but one
        self._ends: dict[tuple[str, Shape | None], list[str]] = {}
        self._alike: dict[Shape | None, list[str]] = {}
        for path, shape in self._shapes.items():
            parts = path.split("/")
            for hole in _holes(parts):
                _add(self._holes, hole, path)
            _add(self._ends, (parts[-1], shape), path)
            _add(self._alike, shape, path)

    def similar_to(self, path: str, shape: Shape | None = None) -> str:
        """Return a phrase with the most similar paths, those with this shape first; empty if none is similar."""
        parts = path.split("/")
        found = [one for hole in _holes(parts) for one in self._holes.get(hole, ())]
        found += self._ends.get((parts[-1], shape), ())
        same = [one for one in (*found, *self._alike.get(shape, ())) if self._shapes[one] == shape]
        words = _most_similar(path, same, " of its shape") if shape is not None else ""
        return words or _most_similar(path, [*found, *list(self._shapes)[: 2 * _MOST]])


def nearest(path: str, paths: Iterable[str]) -> str:
    """Return the phrase of `Nearest.similar_to` for a single query."""
    return Nearest((one, None) for one in paths).similar_to(path)


def _add(table: dict[K, list[str]], key: K, path: str) -> None:
    found = table.setdefault(key, [])
    if len(found) < _MOST:
        found.append(path)


def _holes(parts: list[str]) -> list[tuple[str, ...]]:
    return [(*parts[:i], "", *parts[i + 1 :]) for i in range(len(parts))]


def _most_similar(path: str, paths: Iterable[str], kind: str = "") -> str:
    matcher = SequenceMatcher(b=path, autojunk=False)
    scored = []
    for candidate in dict.fromkeys(paths):
        matcher.set_seq1(candidate)
        if matcher.quick_ratio() > 0.4 and (ratio := matcher.ratio()) > 0.4:
            scored.append((ratio, candidate))
    best = [candidate for _, candidate in sorted(scored, reverse=True)[:2]]
    return f"; nearest{kind}: {', '.join(best)}" if best else ""
