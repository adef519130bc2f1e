"""What a reading of the formulas found: narrow dtypes, windows of padding alone, images that are none."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core.errors import ShapeError


@pytest.fixture(params=["jax", "numpy"], autouse=True)
def backend(request: pytest.FixtureRequest) -> Iterator[None]:
    with gx.backend.use(request.param):
        yield


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "float16"])
def test_cholesky_and_eigh_add_in_a_wide_dtype(dtype: str) -> None:
    large = 100 if "8" in dtype else 30000
    x = np.array([[large, 0], [0, large]], dtype)
    wanted = np.sqrt(np.float64(large)) * np.eye(2)
    np.testing.assert_allclose(np.asarray(ops.cholesky(x)), wanted, rtol=1e-3)
    np.testing.assert_allclose(np.asarray(ops.eigh(x)[0]), [large, large], rtol=1e-3)


def test_cholesky_of_truth_values() -> None:
    assert np.asarray(ops.cholesky(np.eye(2, dtype=bool))).tolist() == [[1.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize(("dtype", "values"), [("uint8", [0, 1, 200]), ("int8", [-128, 0, 127]), ("bool", [1, 0, 1])])
def test_log_sigmoid_of_integers(dtype: str, values: list[int]) -> None:
    x = np.array(values, dtype)
    wanted = -np.logaddexp(0, -x.astype("float64"))
    np.testing.assert_allclose(np.asarray(ops.log_sigmoid(x)), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("op", ["max_pool", "average_pool", "sum_pool"])
def test_a_pooling_window_of_padding_alone_is_refused(op: str) -> None:
    x, pool = np.ones((1, 4, 1), "float32"), getattr(ops, op)
    with pytest.raises(ShapeError, match="in the padding alone"):
        pool(x, 2, 1, ((0, 2),))
    assert np.isfinite(np.asarray(pool(x, 2, 1, ((1, 1),)))).all()


def test_a_pointwise_kernel_is_one_wide() -> None:
    x, depthwise = np.ones((1, 5, 2), "float32"), np.ones((3, 2, 1), "float32")
    with pytest.raises(ShapeError, match="its window is 1"):
        ops.separable_conv(x, depthwise, np.ones((2, 2, 4), "float32"))
    assert ops.separable_conv(x, depthwise, np.ones((1, 2, 4), "float32")).shape == (1, 3, 4)


def test_the_message_on_groups_is_about_what_does_not_fit() -> None:
    with pytest.raises(ShapeError, match="3 channels come out") as caught:
        ops.conv(np.ones((1, 4, 4), "float32"), np.ones((1, 2, 3), "float32"), groups=2)
    assert caught.value.instead == "a kernel of shape [1, 2, 4]"


def test_no_images_at_all() -> None:
    none = np.ones((0, 3, 3, 2), "float32")
    assert ops.image.map_coordinates(none, np.ones((0, 5, 2), "float32")).shape == (0, 5, 2)
    assert ops.image.affine_transform(none, np.float32([1, 0, 0, 0, 1, 0, 0, 0])).shape == (0, 3, 3, 2)


@pytest.mark.parametrize("kind", [layers.RandomRotation, layers.RandomZoom, lambda f: layers.RandomTranslation(f, f)])
def test_layers_take_no_images(kind: Any) -> None:
    assert kind(0.2)(np.ones((0, 3, 3, 2), "float32"), training=True).shape == (0, 3, 3, 2)


@pytest.mark.parametrize("interpolation", ["nearest", "bilinear"])
def test_a_place_that_is_nan_has_no_value(interpolation: str) -> None:
    x = np.arange(9, dtype="float32").reshape(1, 3, 3, 1)
    at = np.float32([[[np.nan, 0], [1, 1]]])
    found = np.asarray(ops.image.map_coordinates(x, at, interpolation))[0, :, 0]
    assert np.isnan(found[0])
    assert found[1] == 4.0


@pytest.mark.parametrize("layer", [layers.Resizing(5, 7, "lanczos5"), layers.UpSampling2D(2, "lanczos5")])
def test_every_interpolation_that_a_layer_takes_is_computed(layer: Any) -> None:
    x = np.full((1, 4, 6, 2), 3.0, "float32")
    np.testing.assert_allclose(np.asarray(layer(x)), 3.0, rtol=1e-4)


@pytest.mark.broad
def test_attention_uses_the_mask_of_the_keys() -> None:
    rng = np.random.default_rng(0)
    query, value, key = (rng.normal(size=(1, n, 3)).astype("float32") for n in (2, 4, 4))
    mask = np.array([[True, True, False, False]])
    layer = layers.Attention()
    wanted = np.asarray(layer([query, value[:, :2], key[:, :2]]))
    for masks in ([None, None, mask], [None, mask, None], [None, mask], [None, mask, np.ones((1, 4), "bool")]):
        np.testing.assert_allclose(np.asarray(layer([query, value, key], mask=masks)), wanted, rtol=1e-5)
    for masks in ([mask], [None, None, None, mask]):
        with pytest.raises(gx.errors.ArgumentTypeError, match="there is one for each"):
            layer([query, value, key], mask=masks)


def test_rescaling_keeps_the_digits_of_its_numbers() -> None:
    if gx.backend.current().arrays.canonical_dtype("float64") == "float64":
        x = np.array([3.0])
        assert float(np.asarray(layers.Rescaling(1 / 255, dtype="float64")(x))[0]) == 3.0 * (1 / 255)


@pytest.mark.broad
def test_the_slope_of_a_deviation_of_equal_values_is_0() -> None:
    if not gx.backend.current().has("gradients"):
        return
    for op in (ops.std, ops.nanstd):
        slope = gx.grad(lambda x, op=op: op(x))(ops.asarray([2.0, 2.0, 2.0]))
        assert np.asarray(slope).tolist() == [0.0, 0.0, 0.0]
    assert float(ops.std(ops.asarray([1.0, 3.0]))) == 1.0


def test_a_mask_value_of_another_kind_than_the_tokens_is_refused() -> None:
    for mask, tokens in ((0, ["a", "0"]), ("0", [0, 1])):
        with pytest.raises(gx.errors.ArgumentTypeError, match="nothing would be masked"):
            layers.Hashing(3, mask_value=mask)(tokens)
    assert np.asarray(layers.Hashing(3, mask_value="0")(["a", "0"]))[1] == 0


def test_as_many_columns_as_bins_were_asked_for() -> None:
    layer = layers.Discretization(num_bins=4, output_mode="one_hot")
    layer.adapt(np.array([1.0, 1.0, 1.0, 2.0]))
    assert layer(np.array([[0.0], [2.0]], "float32")).shape == (2, 4)


@pytest.mark.broad
def test_scores_are_no_labels() -> None:
    labels = np.array([0, 1, 1])
    metric = gx.metrics.IoU(2, sparse_y_pred=True)
    with pytest.raises(gx.errors.ArgumentError, match="with the label 0.9"):
        metric.update(labels, np.array([0.0, 0.9, 1.0], "float32"))
    metric.update(labels.astype("float32"), np.array([0.0, 1.0, 1.0], "float32"))
    assert float(metric.result()) == 1.0
