import numpy as np
import pytest

import graftax as gx
from graftax import layers

X = np.random.default_rng(0).normal([1, -20, 300], [2, 0.1, 40], (40, 5, 3)).astype("float32")


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("axis", [-1, None, (1, 2), 1])
def test_adapt_takes_mean_and_variance_over_the_other_axes(axis):
    kept = {-1: (2,), None: (), (1, 2): (1, 2), 1: (1,)}[axis]
    over = tuple(i for i in range(3) if i not in kept)
    wide = X.astype("float64")
    expected = (wide - wide.mean(over, keepdims=True)) / wide.std(over, keepdims=True)
    for data in (X, [X[:7], X[7:8], X[8:]], (X[i : i + 9] for i in range(0, 40, 9)), gx.ops.asarray(X)):
        layer = layers.Normalization(axis)
        layer.adapt(data)
        np.testing.assert_allclose(layer(X), expected, rtol=1e-3, atol=1e-4)
    back = layers.Normalization(axis, invert=True)
    back.adapt(X)
    np.testing.assert_allclose(back(expected.astype("float32")), X, rtol=1e-4, atol=1e-2)
    layer.adapt(np.zeros((2, 5, 3)))  # what was taken before is forgotten
    assert not np.asarray(layer.mean).any()


def test_integers_and_lists_of_numbers_are_data_too():
    layer = layers.Normalization()
    layer.adapt([[1, 10], [3, 30]])
    assert np.asarray(layer(np.uint8([[1, 30]]))).tolist() == [[-1, 1]]
    assert layers.Normalization(mean=128.0, variance=4.0)(np.uint8([[130]])).tolist() == [[1.0]]


def test_statistics_are_in_checkpoints(tmp_path):
    layer = layers.Normalization()
    layer.adapt(X)
    gx.Checkpoint(layer=layer).save(tmp_path / "one")
    other = layers.Normalization()
    other.build_for(X)
    gx.Checkpoint(layer=other).restore(tmp_path / "one")
    np.testing.assert_array_equal(other(X), layer(X))
    assert other.trainable_variables == []


@pytest.mark.parametrize("axis", [-1, None, 1])
def test_values_are_those_of_keras(keras, axis):
    ours, theirs = layers.Normalization(axis), keras.layers.Normalization(axis)
    ours.adapt(X)
    theirs.adapt(X)
    np.testing.assert_allclose(ours(X), theirs(X), rtol=1e-3, atol=1e-4)


def test_bad_input_is_refused():
    with pytest.raises(gx.errors.ArgumentError, match="one without the other"):
        layers.Normalization(mean=1.0)
    with pytest.raises(gx.errors.ArgumentError, match="not below 0"):
        layers.Normalization(mean=0.0, variance=-1.0)
    with pytest.raises(gx.errors.ArgumentError, match="finite number"):
        layers.Normalization(mean="a", variance=1.0)
    with pytest.raises(gx.errors.StateError, match="were given"):
        layers.Normalization(mean=0.0, variance=1.0).adapt(X)
    with pytest.raises(gx.errors.ShapeError, match="have the sizes"):
        layers.Normalization(mean=[0.0, 1.0], variance=1.0)(X)
    for data in ("text", [(X, X)], {"a": 1}):
        with pytest.raises(gx.errors.ArgumentTypeError, match="adapt got"):
            layers.Normalization().adapt(data)
    with pytest.raises(gx.errors.ArgumentError, match="no values"):
        layers.Normalization().adapt(X[:0])
    with pytest.raises(gx.errors.ShapeError, match="a batch of shape"):
        layers.Normalization().adapt([X, X[..., :2]])


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (np.nan, "nan in row 0, column 1 of batch 1"),
        (np.inf, "infinity in row 0, column 1 of batch 1"),
        (-np.inf, "infinity in row 0, column 1 of batch 1"),
        (1e25, r"data of mean .*float32.*x / scale"),
    ],
    ids=str,
)
def test_statistics_that_are_no_numbers_are_refused(bad, said):
    layer = layers.Normalization()
    layer.adapt(np.array([[1.0, 2.0], [3.0, 4.0]]))
    with pytest.raises(gx.errors.ArgumentError, match=f"(?s)adapt got {said}"):
        layer.adapt([np.array([[1.0, 5.0]]), np.array([[1.0, bad]])])
    np.testing.assert_allclose(layer(np.float32([[3, 4]])), [[1, 1]])  # what was there still is
