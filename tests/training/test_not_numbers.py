"""Data that are no numbers, or numbers in another form, are told the line that makes an array of them."""

from fractions import Fraction

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.errors import ArgumentTypeError, DataError
from graftax.training.arrays import as_arrays

DAYS = np.array(["2020-01-03", "2020-01-01"], "M8[s]")


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (DAYS, [2, 0]),
        (DAYS - DAYS[1], [2, 0]),
        (np.array([[1, 2.5]], object), [[1, 2.5]]),
        (np.array([Fraction(1, 2)], object), [0.5]),
    ],
    ids=["dates", "spans", "objects", "fractions"],
)
def test_the_line_makes_numbers_of_it(given, wanted):
    with pytest.raises(DataError, match=f"x holds an array of dtype {given.dtype}".replace("[", r"\[")) as caught:
        as_arrays(given, "x")
    line = caught.value.instead.partition(", in days")[0]
    np.testing.assert_array_equal(as_arrays(eval(line, {"np": np, "x": given}), "x"), np.float32(wanted))


@pytest.mark.parametrize("given", [np.array([None, 1], object), np.array(["a"])], ids=str)
def test_texts_and_objects_are_mapped_by_layers(given):
    with pytest.raises(DataError, match="instead: map texts and objects to numbers first"):
        as_arrays(given, "x")


@pytest.mark.parametrize(
    ("given", "wanted", "dtype"),
    [
        ([np.float32(1), np.float32(2)], [1, 2], "float32"),
        ([np.int64(1), np.int64(2)], [1, 2], "int32"),
        ([[np.float64(1), 2], [3, np.int8(4)]], [[1, 2], [3, 4]], "float32"),
        ((np.bool_(True), np.bool_(False)), [True, False], "bool"),
    ],
    ids=str,
)
def test_a_list_of_numbers_of_numpy_is_one_array(given, wanted, dtype):
    found = as_arrays(given, "y")
    np.testing.assert_array_equal(found, wanted)
    assert found.dtype == dtype


def test_an_embedding_takes_one_array_of_indices():
    layer = layers.Embedding(5, 2)
    indices = np.array([[0, 1], [2, 3]])
    assert layer(indices.tolist()).shape == (2, 2, 2)
    for given in ([indices], (indices,), {"a": indices}):
        with pytest.raises(ArgumentTypeError, match=r"of 1 in place of an array(.|\n)*instead: x\[(0|'a')\] in place"):
            layer(given)
    model = gx.Sequential([layer, layers.Flatten(), layers.Dense(1)])
    with pytest.raises(ArgumentTypeError, match="a list of 2 in place of an array"):
        model.predict([indices, indices], verbose=0)


def test_a_sparse_tensor_of_torch():
    torch = pytest.importorskip("torch")
    dense = torch.eye(3)
    with pytest.raises(DataError, match=r"x is a tensor of layout torch\.sparse_coo(.|\n)*instead: x\.to_dense\(\)"):
        as_arrays(dense.to_sparse(), "x")
    np.testing.assert_array_equal(as_arrays(dense, "x"), np.eye(3))
