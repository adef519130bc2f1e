"""Where batches come from, by itself: which rows are in which batch of which epoch."""

import numpy as np
import pytest

import graftax as gx
from graftax.core.errors import ArgumentError, DataError
from graftax.training.class_weights import ClassWeights
from graftax.training.sources import choosing as data
from graftax.training.sources.host_batches import finite_weights, host_batch

X = np.arange(5, dtype="float32")


def rows_of(source, epoch):
    """The rows of each batch of an epoch, as numbers."""
    return [batch[0].astype(int).tolist() for batch in source.epoch(epoch)]


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("steps", [None, 1, 2, 3, 4, 7])
def test_epochs_are_pieces_of_one_stream_of_passes(steps, shuffle):
    gx.set_random_seed(3)
    source = data.ArraySource(X, None, None, batch_size=2, shuffle=shuffle, steps=steps)
    stream = []
    for number_of_pass in range(12):
        order = np.random.default_rng((3, number_of_pass)).permutation(5) if shuffle else np.arange(5)
        stream += [order[start : start + 2].tolist() for start in (0, 2, 4)]
    length = steps or 3
    assert source.steps == length
    for epoch in (0, 1, 4, 2):  # in any order: an epoch is known by its number
        assert rows_of(source, epoch) == stream[epoch * length : (epoch + 1) * length]


def test_all_parts_of_a_batch_are_of_the_same_rows():
    x = {"a": X, "b": [X * 2, None]}
    source = data.ArraySource(x, X * 3, X * 4, batch_size=2, shuffle=True)
    for given, y, weight in source.epoch(1):
        np.testing.assert_array_equal(given["b"][0], given["a"] * 2)
        assert given["b"][1] is None
        np.testing.assert_array_equal(y, given["a"] * 3)
        np.testing.assert_array_equal(weight, given["a"] * 4)


def test_parts_that_are_missing_are_not_in_the_batch():
    assert [len(next(data.ArraySource(X, *rest, 2, False).epoch(0))) for rest in ((None, None), (X, None), (X, X))] == [
        1,
        2,
        3,
    ]
    (x, y, weight) = next(data.ArraySource(X, None, X, 2, False).epoch(0))
    assert y is None
    np.testing.assert_array_equal(weight, x)


def test_one_pass_has_no_row_twice():
    data.single_pass_source(X, None, None, 2, 3)
    with pytest.raises(DataError, match="4 steps over 5 rows, which are 3 batches of 2"):
        data.single_pass_source(X, None, None, 2, 4)


def test_a_list_starts_anew_and_an_iterator_goes_on():
    batches = [(X[:2],), (X[2:4],), (X[4:],)]
    anew, on = data.IterableSource(batches, steps=2), data.IterableSource(iter(batches), steps=2)
    assert [rows_of(anew, epoch) for epoch in (0, 1)] == [[[0, 1], [2, 3]]] * 2
    assert [rows_of(on, epoch) for epoch in (0, 1, 2)] == [[[0, 1], [2, 3]], [[4]], []]
    assert (data.is_iterator(anew), data.is_iterator(on)) == (False, True)
    assert (data.IterableSource(batches).steps, data.IterableSource(iter(batches)).steps) == (3, None)


def test_a_loader_that_does_not_know_its_length_has_none():
    class Stream:
        def __len__(self):
            raise TypeError("unknown")

        def __iter__(self):
            return iter([X[:2], X[2:]])

    source = data.IterableSource(Stream())
    assert source.steps is None
    assert rows_of(source, 0) == [[0, 1], [2, 3, 4]]


def test_only_an_iterator_of_unknown_length_is_not_enough_for_two_validations():
    data.require_enough(None, 2)
    data.require_enough(data.IterableSource([X]), 2)
    data.require_enough(data.IterableSource(iter([X])), 1)
    data.require_enough(data.IterableSource(iter([X]), steps=1), 2)
    with pytest.raises(DataError, match="for 2 validations"):
        data.require_enough(data.IterableSource(iter([X])), 2)


@pytest.mark.parametrize(("fraction", "left"), [(0.2, 4), (0.4, 3), (0.1, 4), (0.5, 2), (0.79, 1)])
def test_a_split_takes_the_last_rows_of_every_part(fraction, left):
    head, tail, _ = data.split_validation({"a": X}, X * 2, None, fraction)
    np.testing.assert_array_equal(head[0]["a"], X[:left])
    np.testing.assert_array_equal(tail[0]["a"], X[left:])
    np.testing.assert_array_equal(tail[1], X[left:] * 2)
    assert head[2] is tail[2] is None


@pytest.mark.parametrize("fraction", [0.0, 1.0, 0.9, -0.1])
def test_a_split_that_leaves_nothing_is_refused(fraction):
    with pytest.raises(DataError, match=f"validation_split={fraction} of 5 rows"):
        data.split_validation(X, X, None, fraction)


def test_validation_data_in_each_form_gives_the_same_batches():
    whole = [(X[:2], X[:2]), (X[2:4], X[2:4]), (X[4:], X[4:])]
    for given, batch_size in (((X, X), 2), ([X, X], 2), (X, None), (whole, None), (iter(whole), None)):
        source = data.validation_source(given, batch_size, 2, None)
        assert rows_of(source, 0) == [[0, 1], [2, 3], [4]]
    assert data.validation_source(None, None, 2, None) is None


def test_weights_that_are_not_finite_name_their_row():
    np.testing.assert_array_equal(finite_weights([1, 2.5]), np.float32([1, 2.5]))
    with pytest.raises(ArgumentError, match=r"sample_weight\['a'\]\[1\]|sample_weight\['a'\].*1"):
        finite_weights({"a": [1.0, np.nan]})


def test_class_weights_multiply_those_of_the_batch():
    weights = ClassWeights({1: 3.0})
    labels = np.int32([0, 1, 1])
    (_, _, found) = host_batch(X[:3], labels, [1.0, 2.0, 4.0], weights)
    assert found.tolist() == [1, 6, 12]
    source = data.make_source([(X[:3], labels)], None, None, None, False, None, weights)
    assert next(source.epoch(0))[2].tolist() == [1, 3, 3]
    whole = data.make_source(X[:3], labels, None, 2, False, None, weights)
    assert [batch[2].tolist() for batch in whole.epoch(0)] == [[1, 3], [3]]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (None, "x is None"),
        ("rows.csv", "of type str"),
        (lambda: iter([X]), r"model\.fit\(data\(\)\)"),
        ({1.0, 2.0}, "of type set"),
        ([object()], "something in it that is no array"),
    ],
    ids=["None", "text", "function", "set", "object"],
)
def test_what_is_no_data_is_refused_with_what_to_give(given, said):
    with pytest.raises(DataError, match=said):
        data.make_source(given, None, None, None, False, None)


@pytest.mark.parametrize("extra", [{"y": X}, {"sample_weight": X}, {"batch_size": 2}])
def test_what_batches_have_already_is_refused_beside_them(extra):
    options = {"y": None, "sample_weight": None, "batch_size": None, "shuffle": False, "steps": None}
    with pytest.raises(DataError, match="yields batches"):
        data.make_source(iter([X]), **{**options, **extra})
