"""Weights of samples."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes

import graftax as gx
from graftax import ops
from graftax.core.errors import ShapeError
from graftax.objectives import sample_weights


@given(data=st.data(), shape=array_shapes(min_dims=1, max_dims=3, max_side=4))
def test_weights_for_rows_or_for_values(data, shape):
    ndim = data.draw(st.integers(0, len(shape)))
    weight = np.arange(np.prod(shape[:ndim]), dtype="float32").reshape(shape[:ndim])
    expected = np.broadcast_to(weight.reshape(shape[:ndim] + (1,) * (len(shape) - ndim)), shape)
    with gx.backend.use("numpy"):  # where no shape is compiled
        np.testing.assert_array_equal(sample_weights.broadcast_weight(weight, ops.zeros(shape)), expected)
        if ndim == len(shape):
            np.testing.assert_array_equal(
                sample_weights.broadcast_weight(weight[..., None], ops.zeros(shape)), expected
            )


@pytest.mark.parametrize(
    ("weight", "values"), [((3,), (2,)), ((1,), (2,)), ((2, 3), (2,)), ((3,), (2, 3)), ((2,), ()), ((2, 2), (2, 3))]
)
def test_weights_that_do_not_fit(weight, values):
    with pytest.raises(ShapeError, match="sample_weight"):
        sample_weights.broadcast_weight(np.ones(weight), ops.zeros(values))


@pytest.mark.broad
def test_the_way_that_is_named_for_weights_of_labels_weights_them():
    rng = np.random.default_rng(0)
    x, weight = rng.random((4, 2), "float32"), rng.random((4, 3), "float32")
    y = (rng.random((4, 3)) > 0.5).astype("float32")

    def model(*last):
        found = gx.Sequential([gx.layers.Dense(3, activation="sigmoid"), *last])
        found.compile("sgd", "binary_crossentropy")
        return found

    with pytest.raises(ShapeError) as caught:
        model().evaluate(x, y, sample_weight=weight, verbose=0)
    assert (
        "y[..., None], and, if outputs are no [4, 3, 1] already, layers.Reshape((3, 1)) at the end of the model"
        in caught.value.instead
    )
    found = model(gx.layers.Reshape((3, 1)))
    p = found.predict(x, verbose=0)[..., 0]
    expected = -(weight * (y * np.log(p) + (1 - y) * np.log(1 - p))).mean()
    assert found.evaluate(x, y[..., None], sample_weight=weight, verbose=0)["loss"] == pytest.approx(expected, rel=1e-5)
