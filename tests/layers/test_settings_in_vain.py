"""Settings that nothing would use in some configuration are refused, by layers and by what is given beside them."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers as L
from graftax import losses, metrics, ops
from graftax.core.errors import ArgumentError

IMAGES = np.ones((2, 6, 6, 1), "float32")
MOVED = np.float32([1, 0, 2, 0, 1, 0, 0, 0])
AFFINE = ops.image.affine_transform


@pytest.mark.parametrize(
    ("make", "line"),
    [
        (lambda: L.RandomRotation(0.2, fill_value=3.0), 'fill_mode="constant", fill_value=3.0'),
        (lambda: L.RandomZoom(0.2, fill_mode="nearest", fill_value=3.0), 'fill_mode="constant"'),
        (lambda: L.RandomTranslation(0.2, 0.2, fill_mode="wrap", fill_value=1.0), 'fill_mode="constant"'),
        (
            lambda: AFFINE(IMAGES, MOVED, fill_mode="reflect", fill_value=1.0),
            'fill_mode="constant"',
        ),
        (
            lambda: ops.image.map_coordinates(
                IMAGES, np.ones((2, 3, 2), "float32"), fill_mode="nearest", fill_value=1.0
            ),
            'fill_mode="constant"',
        ),
        (lambda: losses.BinaryFocalCrossentropy(alpha=0.75), "apply_class_balancing=True, alpha=0.75"),
        (lambda: metrics.AUC(num_thresholds=50, thresholds=[0.5]), "alone"),
        (lambda: metrics.IoU(3, sparse_y_pred=True, axis=1), "sparse_y_pred=False"),
        (lambda: metrics.MeanIoU(3, sparse_y_pred=True, axis=1), "sparse_y_pred=False"),
        (lambda: gx.callbacks.ModelCheckpoint("runs", goal="max"), 'monitor="val_loss", goal='),
        (lambda: gx.callbacks.ModelCheckpoint("runs", mode="max"), 'monitor="val_loss", mode='),
    ],
)
def test_what_nothing_would_use_is_refused(make, line):
    with pytest.raises(ArgumentError) as caught:
        make()
    assert line in caught.value.instead


@pytest.mark.broad
def test_the_same_settings_are_taken_where_they_are_used():
    filled = L.RandomTranslation((0.5, 0.5), (0.0, 0.0), fill_mode="constant", fill_value=3.0)(IMAGES, training=True)
    assert 3.0 in np.asarray(filled)
    y, p = np.float32([[0], [1]]), np.float32([[0.3], [0.6]])
    one, other = (losses.BinaryFocalCrossentropy(True, alpha=alpha)(y, p) for alpha in (0.25, 0.75))
    assert float(one) != float(other)
    assert metrics.AUC(num_thresholds=3, thresholds=[0.5]).num_thresholds == 3
    assert metrics.IoU(3, sparse_y_true=False, sparse_y_pred=True, axis=1).axis == 1


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("mode", ["multi_hot", "count", "one_hot", "tf_idf"])
def test_a_masked_token_counts_nowhere_in_vectors(mode):
    weights = [1.0, 2.0] if mode == "tf_idf" else None
    layer = L.StringLookup(vocabulary=["a", "b"], mask_token="", output_mode=mode, idf_weights=weights)
    plain = L.StringLookup(vocabulary=["a", "b"], output_mode=mode, idf_weights=weights)
    if mode == "one_hot":
        assert layer(["a", "", "q"]).tolist() == [[0, 1, 0], [0, 0, 0], [1, 0, 0]]
        assert layer([[""], ["b"]]).tolist() == [[0, 0, 0], [0, 0, 1]]
        return
    np.testing.assert_allclose(layer([["a", "", "b"], ["q", "a", ""]])[:, :], [*plain([["a", "b"], ["q", "a"]])])
    assert layer([["", ""]]).tolist() == [[0, 0, 0]]
    strict = L.IntegerLookup(vocabulary=[1], num_oov_indices=0, mask_token=0, output_mode="count")
    assert strict([[1, 0, 1]]).tolist() == [[2]]


@pytest.mark.references
@pytest.mark.parametrize("mode", ["multi_hot", "count", "one_hot"])
def test_masked_integers_are_those_of_keras(keras, mode):
    x = np.array([[1, 0], [2, 1], [0, 0]])
    made = [one.IntegerLookup(vocabulary=[1, 2], mask_token=0, output_mode=mode) for one in (L, keras.layers)]
    given = x[:, :1] if mode == "one_hot" else x
    np.testing.assert_array_equal(made[0](given), made[1](given))
