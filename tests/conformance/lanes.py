"""Which rows of a table run in the quick lane, and which only in the slow one.

Of those that are not slow, rows that are expensive take turns in the quick lane, and run in the broad one else, all or
as many as are said: `@pytest.mark.in_turn(n, start, broad=k)`, which `tests/conftest.py` reads.
"""

from collections.abc import Collection, Iterable, Sequence
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


def crossed(rows: Sequence[Any], columns: Sequence[Any], siblings: Collection[str] = ()) -> list[Any]:
    """Return the parameters of a test of each row with each column, flat where one is a tuple.

    The quick lane has each row and each column at least once; all other pairs are slow.

    Args:
        rows: Names, or tuples that begin with one.
        columns: What each row is tried with.
        siblings: Names of rows that are slow with every column. Defaults to none.
    """
    found = []
    quick_rows = [row for row in rows if (row[0] if type(row) is tuple else row) not in siblings] if siblings else rows
    number = {id(row): i for i, row in enumerate(quick_rows)}
    for row in rows:
        for j, column in enumerate(columns):
            i = number.get(id(row))
            if i is None:
                quick = False
            else:
                quick = j == i % len(columns) if len(quick_rows) >= len(columns) else i == j % len(quick_rows)
            values = (*(row if type(row) is tuple else (row,)), *(column if type(column) is tuple else (column,)))
            found.append(pytest.param(*values, marks=() if quick else pytest.mark.slow))
    return found
