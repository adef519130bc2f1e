"""Training data as arrays of the host, by itself."""

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.core.errors import DataError
from graftax.training.arrays import as_arrays, count_rows, is_arrays, is_numbers, path_expression, take_rows


def test_what_counts_as_arrays():
    a = np.ones(2)
    for given in (a, [1, 2.0], [[1, 2], [3, 4]], (a, [1.0]), {"a": a, "b": 3}, gx.Variable(1.0), ops.ones(2)):
        assert is_arrays(given)
    for other in (None, [], {}, "text", [a, "text"], iter([a]), object(), np.ndarray):
        assert not is_arrays(other)
    assert [is_numbers(one) for one in (1, [1, [2.0]], (), "1", [a], None)] == [True, True, True, False, False, False]


@pytest.mark.parametrize(
    ("dtype", "found"),
    [("float64", "float32"), ("int64", "int32"), ("uint64", "uint32"), ("complex128", "complex64"), ("uint8", "uint8")]
    + [(same, same) for same in ("bool", "float16", "float32", "int32")],
)
def test_arrays_are_of_32_bits_at_most(dtype, found):
    given = np.array([0, 1], dtype)
    assert as_arrays(given, "x").dtype == found
    np.testing.assert_array_equal(as_arrays(given, "x"), given)


def test_structures_stay_and_lists_of_numbers_are_arrays():
    found = as_arrays({"a": [1, 2], "b": (np.ones(1), [[1.5], [2.5]])}, "x")
    assert found["a"].tolist() == [1, 2]
    assert isinstance(found["b"], tuple)
    assert found["b"][1].tolist() == [[1.5], [2.5]]
    assert as_arrays(None, "x") is None
    np.testing.assert_array_equal(as_arrays(gx.Variable([3.0]), "x"), [3.0])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([[1, 2], [3]], "2 rows of different lengths, of 1 to 2 numbers"),
        (np.array([2**31]), "2147483648, of dtype int64"),
        (np.array([-(2**31) - 1]), "-2147483649, of dtype int64"),
        (np.array([1e39]), "of dtype float64"),
        (np.array(["a"]), "an array of dtype <U1"),
    ],
)
def test_what_32_bits_or_one_array_cannot_hold_is_refused(given, said):
    with pytest.raises(DataError, match=f"x.*{said}"):
        as_arrays(given, "x")


def test_infinities_that_were_given_stay():
    assert np.isinf(as_arrays(np.array([np.inf, 1.0]), "x")).tolist() == [True, False]


def test_rows_are_counted_in_all_parts():
    a, b = np.ones((3, 2)), np.ones(4)
    assert count_rows(x={"a": a, "b": a}, y=None) == 3
    with pytest.raises(DataError, match="x/a has 3, y has 4"):
        count_rows(x={"a": a}, y=b)
    with pytest.raises(DataError, match="no rows at all"):
        count_rows(x=np.ones((0, 2)))
    with pytest.raises(DataError, match="y is a single number"):
        count_rows(x=a, y=np.float32(1))


def test_of_many_parts_the_first_that_differs_is_told():
    parts = [np.ones(3)] * 6 + [np.ones(2)] + [np.ones(3)] * 3
    with pytest.raises(DataError, match=r"x/0 has 3, x/1 has 3, x/2 has 3, x/6 has 2, and 6 more"):
        count_rows(x=parts)


def test_rows_are_taken_from_all_parts():
    found = take_rows({"a": np.arange(4), "b": [None, np.arange(4) * 2]}, np.array([2, 0]))
    assert (found["a"].tolist(), found["b"][0], found["b"][1].tolist()) == ([2, 0], None, [4, 0])
    assert take_rows(None, slice(2)) is None


def test_paths_are_shown_as_python_writes_them():
    assert [path_expression("x", path) for path in ("", "a", "0", "a/0")] == ["x", "x['a']", "x[0]", "x['a'][0]"]
