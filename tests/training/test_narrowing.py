"""Numbers of 64 bits, and those in another byte order, become what models compute with, or are refused."""

import numpy as np
import pytest

from graftax.core.errors import DataError
from graftax.training.arrays import as_arrays
from graftax.training.narrowing import narrow

DTYPES = ["i2", "i4", "i8", "u4", "u8", "f2", "f4", "f8"]


def stored(array, tmp_path, form):
    if form == "array":
        return array
    if form == "memory map":
        np.save(tmp_path / "x.npy", array)
        return np.load(tmp_path / "x.npy", mmap_mode="r")
    sparse = pytest.importorskip("scipy.sparse")
    return sparse.csr_matrix(array.astype(array.dtype.newbyteorder("=")))


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_either_byte_order_gives_the_same_numbers(dtype, order):
    given = np.array([[1, 2], [3, 4]], order + dtype)
    found = as_arrays(given, "x")
    assert found.dtype.isnative
    assert found.dtype.itemsize <= 4
    np.testing.assert_array_equal(found, given)


@pytest.mark.parametrize("order", ["<", ">"])
def test_a_memory_map_in_either_byte_order(tmp_path, order):
    given = np.array([[1.5, 2], [3, 4]], f"{order}f8")
    found = as_arrays(stored(given, tmp_path, "memory map"), "x")
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found[np.array([1, 0])], given[::-1])


LARGE = [(2**40, "i8"), (-(2**31) - 1, "i8"), (2**32, "u8"), (1e300, "f8")]


@pytest.mark.parametrize("form", ["array", "memory map", "sparse"])
@pytest.mark.parametrize(("number", "dtype"), LARGE)
def test_what_32_bits_do_not_hold_is_refused_wherever_it_lies(tmp_path, form, number, dtype):
    with pytest.raises(DataError, match=r"(?s)x holds .* models compute with (integers|floats) of 32 bits") as caught:
        as_arrays(stored(np.array([[1, number], [1, 1]], dtype), tmp_path, form), "x")[0:2]
    assert str(number) in str(caught.value)


@pytest.mark.parametrize("form", ["array", "memory map"])
def test_an_infinity_beside_it_hides_no_number_that_32_bits_do_not_hold(tmp_path, form):
    given = stored(np.array([[np.inf, 1.0], [np.nan, -np.inf]]), tmp_path, form)
    np.testing.assert_array_equal(as_arrays(given, "x")[0:2], given)
    with pytest.raises(DataError, match=r"x holds 1e\+300"):
        as_arrays(stored(np.array([[np.inf, 1.0], [np.nan, -1e300]]), tmp_path, form), "x")[0:2]
    assert narrow(np.zeros((0, 3)), "x").shape == (0, 3)


def test_what_fits_is_not_copied():
    given = np.ones(3, "float32")
    assert narrow(given, "x") is given
