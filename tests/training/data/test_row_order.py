"""The order of a pass: each row once, whatever their number, the same for a seed; and what rows are taken from."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from graftax.training.arrays import as_arrays, take_rows
from graftax.training.sources.row_order import RowOrder

MANY = 2**20 + 3


@pytest.mark.parametrize("rows", [1, 5, MANY])
def test_each_row_comes_once(rows: int) -> None:
    order = RowOrder((3, 1), rows)
    half = rows // 2
    found = np.concatenate([order[:half], order[half:rows]])
    assert np.array_equal(np.bincount(found, minlength=rows), np.ones(rows))


def test_few_rows_come_in_the_order_of_a_permutation() -> None:
    assert RowOrder((3, 1), 9)[:9].tolist() == np.random.default_rng((3, 1)).permutation(9).tolist()


@pytest.mark.broad
def test_an_order_follows_from_the_seed() -> None:
    first, again, other = (RowOrder(seed, MANY)[:8].tolist() for seed in ((3, 1), (3, 1), (3, 2)))
    assert first == again != other


@pytest.mark.broad
def test_the_order_of_many_rows_is_random() -> None:
    """Rises, places of the first rows, and distances are those of a random order, within four standard deviations."""
    found = RowOrder((0, 0), MANY)[:MANY]
    rises = np.mean(found[1:] > found[:-1]) - 0.5
    assert abs(rises) < 4 * (12 * MANY) ** -0.5
    assert abs(np.corrcoef(found, np.arange(MANY))[0, 1]) < 4 * MANY**-0.5
    counts = np.histogram2d(np.arange(MANY), found, bins=32)[0]
    chi = ((counts - MANY / 1024) ** 2 / (MANY / 1024)).sum()
    assert abs(chi - 31 * 31) < 4 * (2 * 31 * 31) ** 0.5


TABLE = np.arange(7 * 6, dtype="float32").reshape(7, 6)
WIDE = np.arange(7 * 300, dtype="float32").reshape(7, 300)
RECORDS = np.zeros(7, [("a", "float32"), ("b", "float32", (2,)), ("c", "int16")])
RECORDS["a"], RECORDS["b"], RECORDS["c"] = TABLE[:, 0], TABLE[:, 1:3], np.arange(7)
PARTS: dict[str, Callable[[], Any]] = {
    "all": lambda: TABLE,
    "first columns": lambda: TABLE[:, :2],
    "last columns": lambda: TABLE[:, 4:],
    "one column": lambda: TABLE[:, 3],
    "every other column": lambda: TABLE[:, 1::2],
    "columns backwards": lambda: TABLE[:, ::-1],
    "rows backwards": lambda: TABLE[::-1],
    "every other row": lambda: TABLE[::2],
    "some rows of some columns": lambda: TABLE[1:, :2],
    "by columns": lambda: np.asfortranarray(TABLE),
    "transposed": lambda: TABLE.T,
    "one of many columns": lambda: WIDE[:, 299],
    "most of many columns": lambda: WIDE[:, 1:],
    "a field": lambda: RECORDS["a"],
    "a field of several numbers": lambda: RECORDS["b"],
    "a field of integers": lambda: RECORDS["c"],
    "an axis split": lambda: TABLE[:, 1:5].reshape(7, 2, 2),
    "axes exchanged": lambda: TABLE.reshape(7, 2, 3).swapaxes(1, 2),
    "diagonal": lambda: TABLE.reshape(7, 2, 3)[:, [0, 1], [1, 2]],
    "sliding": lambda: np.lib.stride_tricks.sliding_window_view(TABLE.reshape(-1), 6)[::6],
    "the same row": lambda: np.broadcast_to(TABLE[0], (7, 6)),
}


@pytest.mark.parametrize("part", PARTS)
def test_rows_are_taken_from_any_part_of_an_array(part: str) -> None:
    array = PARTS[part]()
    rows = np.array([2, 0, len(array) - 1, 2])
    for found in (take_rows(array, rows), take_rows({"x": array}, rows)["x"]):
        assert found.dtype == array.dtype
        assert np.array_equal(found, array[rows])
        assert not np.shares_memory(found, array)


def test_no_batch_copies_all_rows() -> None:
    endless = np.broadcast_to(np.float32(2), (10**14, 3))
    assert take_rows(endless, np.array([7, 10**13])).tolist() == [[2, 2, 2], [2, 2, 2]]


def test_what_is_converted_lies_row_by_row() -> None:
    given = np.asfortranarray(np.ones((5, 3)))
    assert as_arrays(given, "x").flags.c_contiguous
    assert as_arrays(given.astype("int64"), "x").flags.c_contiguous
