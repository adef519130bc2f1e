"""AUC, F scores and the four counts: against Keras and scikit-learn, by name, and where predictions are nan."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, losses, metrics
from graftax.core.errors import ArgumentError, ShapeError

RNG = np.random.default_rng(5)
Y = RNG.integers(0, 2, (40, 3))
P = np.clip(0.3 * Y + RNG.uniform(0, 0.7, (40, 3)), 0, 1).astype("float32")
ROWS = RNG.uniform(0, 2, 40).astype("float32")
COUNTS = ["TruePositives", "FalsePositives", "TrueNegatives", "FalseNegatives"]


def compared(ours, theirs, weights, rtol=1e-5):
    for part in (slice(0, 25), slice(25, None)):
        w = None if weights is None else weights[part]
        ours.update(Y[part], P[part], w)
        theirs.update_state(Y[part], P[part], sample_weight=w)
    np.testing.assert_allclose(ours.result(), np.asarray(theirs.result()), rtol=rtol, atol=1e-6)


@pytest.mark.parametrize("weights", [None, ROWS], ids=["plain", "weighted"])
@pytest.mark.parametrize("curve", ["ROC", "PR"])
@pytest.mark.parametrize("summation", ["interpolation", "minoring", "majoring"])
@pytest.mark.parametrize("points", [{}, {"num_thresholds": 11}, {"thresholds": [0.7, 0.2, 0.35]}], ids=str)
def test_areas_are_those_of_keras(keras, weights, curve, summation, points):
    options = {"curve": curve, "summation_method": summation, **points}
    compared(metrics.AUC(**options), keras.metrics.AUC(**options), weights)


AT = ["SensitivityAtSpecificity", "SpecificityAtSensitivity", "PrecisionAtRecall", "RecallAtPrecision"]


@pytest.mark.parametrize("weights", [None, ROWS], ids=["plain", "weighted"])
@pytest.mark.parametrize("name", AT)
@pytest.mark.parametrize("options", [{}, {"num_thresholds": 1}, {"num_thresholds": 7, "class_id": 1}], ids=str)
def test_shares_at_a_constraint_are_those_of_keras(keras, weights, name, options):
    for least in (0.0, 0.6, 0.95):
        compared(getattr(metrics, name)(least, **options), getattr(keras.metrics, name)(least, **options), weights)


@pytest.mark.broad
@pytest.mark.parametrize("name", AT)
def test_arguments_of_constraints_are_looked_at(name):
    make = getattr(metrics, name)
    for wrong, message in (((1.5,), "in \\[0, 1\\]"), ((0.5, 0), "num_thresholds=0"), ((0.5, 5, -1), "class_id=-1")):
        with pytest.raises(ArgumentError, match=message):
            make(*wrong)
    with pytest.raises(ArgumentError, match="from_logits=True"):
        make(0.5)([1, 0], [3.0, -1.0])
    with pytest.raises(ShapeError, match="class_id of one of them"):
        make(0.5, class_id=3)(Y, P)
    np.testing.assert_allclose(make(0.5, from_logits=True)(Y, P * 4 - 2), make(0.5)(Y, 1 / (1 + np.exp(2 - 4 * P))))


LABELS = [
    {"multi_label": True},
    {"multi_label": True, "num_labels": 3, "label_weights": [0.2, 0.0, 2.0]},
    {"label_weights": [0.2, 0.0, 2.0]},
]


@pytest.mark.parametrize("weights", [None, ROWS], ids=["plain", "weighted"])
@pytest.mark.parametrize("curve", ["ROC", "PR"])
@pytest.mark.parametrize("labels", LABELS, ids=["each", "weighted labels", "weighted elements"])
def test_areas_of_labels_are_those_of_keras(keras, weights, curve, labels):
    assert P.shape[-1] == 3
    compared(metrics.AUC(curve=curve, **labels), keras.metrics.AUC(curve=curve, **labels), weights)


@pytest.mark.broad
def test_the_area_of_labels_is_the_mean_of_their_areas():
    alone = [float(metrics.AUC()(Y[:, i], P[:, i])) for i in range(3)]
    assert float(metrics.AUC(multi_label=True)(Y, P)) == pytest.approx(np.mean(alone), abs=1e-6)
    weighted = metrics.AUC(multi_label=True, label_weights=[1, 0, 3])
    assert float(weighted(Y, P)) == pytest.approx((alone[0] + 3 * alone[2]) / 4, abs=1e-6)
    with pytest.raises(ShapeError, match="the metric has curves of 3"):
        weighted.update(Y[:, :2], P[:, :2])


def test_areas_of_logits_are_those_of_keras(keras):
    logits = np.log(P / (1 - P + 1e-6) + 1e-6)
    ours, theirs = metrics.AUC(from_logits=True), keras.metrics.AUC(from_logits=True)
    theirs.update_state(Y, logits)
    np.testing.assert_allclose(ours(Y, logits), np.asarray(theirs.result()), rtol=1e-5)


@pytest.mark.parametrize("weights", [None, ROWS], ids=["plain", "weighted"])
@pytest.mark.parametrize("average", [None, "micro", "macro", "weighted"])
@pytest.mark.parametrize("threshold", [None, 0.4])
@pytest.mark.parametrize("beta", [1.0, 0.5, 3.0])
def test_f_scores_are_those_of_keras(keras, weights, average, threshold, beta):
    options = {"average": average, "threshold": threshold}
    compared(metrics.FBetaScore(beta=beta, **options), keras.metrics.FBetaScore(beta=beta, **options), weights)
    if beta == 1:
        compared(metrics.F1Score(**options), keras.metrics.F1Score(**options), weights)


@pytest.mark.parametrize("weights", [None, ROWS], ids=["plain", "weighted"])
@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("thresholds", [None, 0.3, [0.8, 0.1]])
def test_counts_are_those_of_keras(keras, weights, name, thresholds):
    if isinstance(thresholds, list):
        thresholds = sorted(thresholds)
    compared(
        getattr(metrics, name)(thresholds),
        getattr(keras.metrics, name)(thresholds),
        None if weights is None else weights[:, None] * np.ones((1, 3), "float32"),
    )


def curve_points(y, p, thresholds):
    return np.array([[((y == kind) & (p > at)).sum() for at in thresholds] for kind in (0, 1)], "float64")


@pytest.mark.broad
def test_the_area_of_precision_is_the_integral_of_straight_counts():
    thresholds = (-1e-7, 0.25, 0.5, 0.75, 1 + 1e-7)
    wrong, right = curve_points(Y, P, thresholds)
    total = 0.0
    for i in range(len(thresholds) - 1):  # from the higher threshold to the lower one, in small steps
        share = (np.arange(100_000) + 0.5) / 100_000
        tp = right[i + 1] + share * (right[i] - right[i + 1])
        fp = wrong[i + 1] + share * (wrong[i] - wrong[i + 1])
        total += np.mean(tp / np.maximum(tp + fp, 1e-30)) * (right[i] - right[i + 1]) / right[0]
    np.testing.assert_allclose(metrics.AUC(5, "PR")(Y, P), total, rtol=1e-4)


@pytest.mark.broad
def test_f_scores_of_each_class_by_hand():
    predicted = P > 0.5
    right, found, there = ((Y * predicted).sum(0), predicted.sum(0), Y.sum(0))
    each = 2 * right / (found + there)
    np.testing.assert_allclose(metrics.F1Score(threshold=0.5)(Y, P), each, rtol=1e-6)
    np.testing.assert_allclose(metrics.F1Score("macro", 0.5)(Y, P), each.mean(), rtol=1e-6)
    np.testing.assert_allclose(metrics.F1Score("weighted", 0.5)(Y, P), (each * there).sum() / there.sum(), rtol=1e-6)
    spatial = metrics.F1Score(threshold=0.5)
    spatial.update(Y.reshape(8, 5, 3), P.reshape(8, 5, 3), mask=np.ones((8, 5), bool))
    np.testing.assert_allclose(spatial.result(), each, rtol=1e-6)


@pytest.mark.broad
def test_nan_is_never_right():
    nan = np.full((2,), np.nan, "float32")
    wanted = {"TruePositives": 0, "FalsePositives": 1, "TrueNegatives": 0, "FalseNegatives": 1}
    for name, number in wanted.items():
        assert float(getattr(metrics, name)()([0, 1], nan)) == number
    good = np.float32([0.1, 0.9, 0.2, 0.8])
    assert float(metrics.AUC()([0, 1, 0, 1], good)) == pytest.approx(1)
    for place in range(4):
        bad = good.copy()
        bad[place] = np.nan
        assert float(metrics.AUC()([0, 1, 0, 1], bad)) < 0.76
        assert float(metrics.F1Score("micro", 0.5)([0, 1, 0, 1], bad)) < 0.81
    assert metrics.F1Score()([[1, 0], [0, 1]], [[np.nan, 0.2], [0.1, 0.9]]).tolist() == [0, 1]


@pytest.mark.broad
def test_masks_reach_every_element_and_row():
    keep = RNG.integers(0, 2, (40, 3)).astype(bool)
    hidden = np.where(keep, P, np.nan).astype("float32")
    for make in (metrics.AUC, *(getattr(metrics, name) for name in COUNTS)):
        metric = make()
        metric.update(Y, hidden, mask=keep)
        np.testing.assert_allclose(metric.result(), make()(Y[keep], P[keep]), rtol=1e-6)
    rows = keep[:, 0]
    score = metrics.F1Score()
    score.update(Y, np.where(rows[:, None], P, np.nan).astype("float32"), mask=rows)
    np.testing.assert_allclose(score.result(), metrics.F1Score()(Y[rows], P[rows]), rtol=1e-6)


@pytest.mark.broad
def test_counts_go_beyond_what_float32_can():
    metric = metrics.TruePositives()
    batch = 2**22 + 1
    step = gx.jit(lambda y, p: metric.update(y, p))
    y, p = np.ones(batch, "int8"), np.ones(batch, "float32")
    for _ in range(9):
        step(y, p)
    high, low = metric.sums.numpy().astype("float64")
    assert (high + low).tolist() == [9 * batch]


def test_names_follow_the_loss():
    logits = losses.BinaryCrossentropy(from_logits=True)
    assert metrics.get("auc", loss=logits).from_logits
    assert metrics.get("f1_score", loss=logits).threshold == 0.0
    assert metrics.get("true_positives", loss=logits).thresholds == (0.0,)
    assert metrics.get("fbeta_score").threshold is None
    assert metrics.get("F1Score").average == "macro"
    classes = losses.CategoricalCrossentropy(from_logits=True)
    assert metrics.get("f1_score", loss=classes).threshold is None
    for name in ("auc", "false_negatives"):
        with pytest.raises(ArgumentError, match="logits of classes"):
            metrics.get(name, loss=classes)


@pytest.mark.broad
def test_fit_shows_them():
    model = gx.Sequential([layers.Dense(1)])
    model.compile("sgd", losses.BinaryCrossentropy(from_logits=True), metrics=["auc", "true_positives", "f1_score"])
    shown = model.fit(P, Y[:, :1], epochs=2, batch_size=16, verbose=0).history
    measured = model.evaluate(P, Y[:, :1], verbose=0)
    assert float(measured["auc"]) == pytest.approx(float(metrics.AUC(from_logits=True)(Y[:, :1], model(P))), abs=1e-5)
    assert {"auc", "true_positives", "f1_score"} <= shown.keys()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: metrics.AUC(1), "num_thresholds=1"),
        (lambda: metrics.AUC(curve="PRC"), "'ROC', 'PR'"),
        (lambda: metrics.AUC(summation_method="mean"), "'minoring'"),
        (lambda: metrics.AUC(num_labels=3), "without multi_label"),
        (lambda: metrics.AUC(multi_label=True, num_labels=0), "num_labels=0"),
        (lambda: metrics.AUC(multi_label=True, num_labels=2, label_weights=[1.0]), "1 label_weights"),
        (lambda: metrics.AUC(label_weights=[-1.0]), "a weight from 0 up"),
        (lambda: metrics.AUC(thresholds=[2.0]), "a list that parts probabilities"),
        (lambda: metrics.AUC()([1, 0], [3.0, -1.0]), "from_logits=True"),
        (lambda: metrics.FBetaScore("mean"), "'macro'"),
        (lambda: metrics.FBetaScore(beta=0.0), "beta"),
        (lambda: metrics.F1Score()([1, 0], [0.5, 0.1]), r"F1Score\(threshold=0.5\)"),
        (lambda: metrics.TruePositives([]), "thresholds"),
        (lambda: metrics.TruePositives(np.nan), "threshold"),
        (lambda: metrics.AUC()([2, 0], [0.3, 0.1]), "binary targets"),
    ],
)
def test_what_cannot_be_is_refused(make, words):
    with pytest.raises(ArgumentError, match=words):
        make()


@pytest.mark.broad
def test_another_number_of_classes_is_refused():
    metric = metrics.F1Score("macro")
    metric.update(Y, P)
    with pytest.raises(ShapeError, match="with 2 classes"):
        metric.update(Y[:, :2], P[:, :2])


@pytest.mark.in_turn(4, 1)
@pytest.mark.parametrize("kind", [metrics.Precision, metrics.Recall])
@pytest.mark.parametrize(
    "hidden", [{"sample_weight": [[1.0, 1, 0]]}, {"mask": [[True, True, False]]}], ids=["weight", "mask"]
)
@pytest.mark.parametrize("last", [0.05, 0.9, -9.0])
def test_l4_what_is_hidden_takes_no_place_among_the_largest(kind, hidden, last):
    """Of the two that are seen, the second is the largest, and a 1, whatever is hidden beside them."""
    hidden = {name: np.asarray(value) for name, value in hidden.items()}
    found = kind(top_k=1)(np.float32([[0, 1, 0]]), np.float32([[0.1, 0.3, last]]), **hidden)
    assert float(found) == 1.0
