"""Which rows of a table run in the quick lane, and which only in the slow one."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def in_lanes(rows: Iterable[Any], siblings: Collection[str]) -> list[Any]:
    """Return the parameters of a test: the rows, those marked slow whose code a row of the quick lane runs, too.

    Args:
        rows: Names, or tuples that begin with one.
        siblings: Names of the rows for the slow lane.
    """
    found = [*rows]
    names = [row if isinstance(row, str) else row[0] for row in found]
    assert set(siblings) <= set(names), f"no row is called {sorted(set(siblings) - set(names))}"
    return [
        pytest.param(row, marks=pytest.mark.slow) if name in siblings else row
        for row, name in zip(found, names, strict=True)
    ]
