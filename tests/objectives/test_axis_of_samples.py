"""What belongs to labels or columns is never laid along samples, of which there may be as many."""

import numpy as np
import pytest

import graftax as gx
from graftax import losses, metrics
from graftax.core.errors import ArgumentError, ShapeError

RNG = np.random.default_rng(0)
Y, P = RNG.random((2, 4, 4)).astype("float32")  # as many columns as samples
W = np.float32([1, 0, 2, 0])

OVER_SAMPLES = {
    "loss": lambda **options: losses.CosineSimilarity(axis=0)(Y, P, **options),
    "counted_from_the_end": lambda **options: losses.CosineSimilarity(axis=-2)(Y, P, **options),
    "cosine": lambda **options: metrics.CosineSimilarity(axis=0)(Y, P, **options),
    "pearson": lambda **options: metrics.PearsonCorrelation(axis=0)(Y, P, **options),
    "concordance": lambda **options: metrics.ConcordanceCorrelation(axis=0)(Y, P, **options),
}


@pytest.mark.parametrize("case", OVER_SAMPLES)
def test_weights_of_samples_are_none_of_columns(case):
    value, is_loss = float(OVER_SAMPLES[case]()), case in ("loss", "counted_from_the_end")
    for options in ({"sample_weight": W}, {"mask": W > 0}, {"mask": Y > 0.5}):
        with pytest.raises(ShapeError, match=r"of 4 samples, with vectors along axis(.|\n)*axis=-1"):
            OVER_SAMPLES[case](**options)
    assert float(OVER_SAMPLES[case](sample_weight=2.0)) == pytest.approx(value * (2 if is_loss else 1), rel=1e-5)


def test_weights_of_columns_stay():
    found = losses.CosineSimilarity(axis=0)(Y[:3], P[:3], sample_weight=W)
    each = losses.cosine_similarity(Y[:3], P[:3], axis=0)
    assert float(found) == pytest.approx(float(np.mean(np.asarray(each) * W)), rel=1e-5)


@pytest.mark.parametrize("labels", [1, 4])
def test_weights_of_labels_are_none_of_samples(labels):
    weight = [3.0] * labels
    with pytest.raises(ShapeError, match=r"one for each label(.|\n)*pos_weight=3.0"):
        losses.binary_crossentropy(np.round(Y[0]), P[0], pos_weight=weight)
    with pytest.raises(ShapeError, match="one for each label"):
        losses.BinaryCrossentropy(pos_weight=weight)(np.round(Y[0]), P[0][:, None])
    rows = losses.binary_crossentropy(np.round(Y[:, :labels]), P[:, :labels], pos_weight=weight)
    np.testing.assert_allclose(
        rows, losses.binary_crossentropy(np.round(Y[:, :labels]), P[:, :labels], pos_weight=3.0), rtol=1e-6
    )


@pytest.mark.parametrize("shapes", [((4,), (4,)), ((4,), (4, 1)), ((4, 1), (4,)), ((4, 1), (4, 1))])
def test_curves_of_one_label(shapes):
    y, p = np.float32([0, 1, 1, 0]).reshape(shapes[0]), np.float32([0.1, 0.8, 0.4, 0.5]).reshape(shapes[1])
    area = float(metrics.AUC()(y, p))
    for options in ({"multi_label": True}, {"label_weights": [2.0]}, {"multi_label": True, "label_weights": [2.0]}):
        assert float(metrics.AUC(**options)(y, p)) == pytest.approx(area)
    weighted = float(metrics.AUC()(y, p, sample_weight=W))
    assert float(metrics.AUC(multi_label=True)(y, p, sample_weight=W)) == pytest.approx(weighted)
    for options in ({"label_weights": [1.0, 0, 0, 0]}, {"multi_label": True, "num_labels": 4}):
        with pytest.raises(ShapeError, match="4"):
            metrics.AUC(**options)(y, p)


# --- classes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ignored", [-1, 3])
def test_a_class_that_one_hot_rows_never_have(ignored):
    for make in (metrics.IoU, metrics.MeanIoU):
        with pytest.raises(ArgumentError, match=rf"ignore_class={ignored}(.|\n)*nothing would be ignored"):
            make(3, ignore_class=ignored, sparse_y_true=False)
        assert make(3, ignore_class=ignored).ignore_class == ignored
    assert metrics.IoU(3, ignore_class=2, sparse_y_true=False).ignore_class == 2


def test_scores_in_place_of_classes_are_told_in_compiled_steps():
    metric = metrics.IoU(2, sparse_y_pred=True)
    with pytest.raises(ArgumentError, match="y_pred with the label 0.9"):
        gx.jit(lambda y, p: metric.update(y, p), checked=True)(np.array([0, 1]), np.float32([0, 0.9]))
    model = gx.Sequential([gx.layers.Dense(1, "sigmoid")])
    model.compile("sgd", "binary_crossentropy", metrics=[metrics.IoU(2, sparse_y_pred=True)])
    with pytest.raises(ArgumentError, match="y_pred of dtype float32 in compiled code"):
        model.fit(Y, np.round(Y[:, :1]), epochs=1, verbose=0)
    whole = gx.jit(lambda y, p: metric.update(y, p), checked=True)
    whole(np.array([0, 1]), np.float32([0, 1]))
    assert float(metric.result()) == 1.0
