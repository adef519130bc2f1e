"""The text of a report: a line for each thing to look at, and one for many that went as expected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

SHOWN = 20
"""The most lines of one kind in a short table; the details have all."""


class Row(NamedTuple):
    """A line of a table. ``expected`` is True if there is nothing to look at: many such lines become a count."""

    what: str
    path: str
    text: str = ""
    expected: bool = False


def shorten(rows: Sequence[Row], instead: str) -> list[Row]:
    """Return rows of which no kind has many: what is expected is counted by root, and of the rest the first are shown.

    Args:
        rows: The rows, those of a kind one after the other.
        instead: The line to write for all rows.
    """
    counts = Counter(row.what for row in rows)
    short: list[Row] = []
    for what, count in counts.items():
        found = [row for row in rows if row.what == what]
        if count <= SHOWN:
            short += found
            continue
        told = [row for row in found if not row.expected]
        short += _count_by_root(row for row in found if row.expected)
        short += told[:SHOWN]
        if len(told) > SHOWN:
            short.append(Row(what, f"and {len(told) - SHOWN:,} more", f"{instead} shows all"))
    return short


def _count_by_root(rows: Iterable[Row]) -> list[Row]:
    counts = Counter((row.what, row.path.partition("/")[0]) for row in rows)
    return [Row(what, f"{root}/**", f"{count:,} values") for (what, root), count in counts.items()]


def lay_out(rows: Iterable[Row]) -> list[str]:
    """Return a line for each row, in columns."""
    rows = list(rows)
    what = max((len(row.what) for row in rows), default=0)
    path = max((len(row.path) for row in rows if row.text), default=0)  # a row without a text may be a sentence
    return [f"{row.what:{what}}  {row.path:{path}}  {row.text}".rstrip() for row in rows]
