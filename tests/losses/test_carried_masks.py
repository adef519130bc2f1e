"""The mask that predictions carry counts where losses and metrics are called by hand, as it does in fit."""

from functools import partial
from inspect import signature

import numpy as np
import pytest

import graftax as gx
from graftax import layers, losses, metrics, ops

TOKENS = np.array([[4, 2, 7, 0, 0], [1, 5, 3, 6, 0]])
KEPT = TOKENS != 0


@pytest.fixture
def model():
    gx.set_random_seed(0)
    model = gx.Sequential([layers.Embedding(10, 8, mask_zero=True), layers.Dense(1, activation="sigmoid")])
    model(TOKENS)
    return model


@pytest.fixture
def targets():
    return np.where(KEPT, TOKENS % 2, 1)[..., None].astype("float32")


@pytest.mark.broad
@pytest.mark.parametrize("how", ["eager", "compiled", "run_eagerly"])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_a_loss_and_its_gradient_leave_out_what_the_mask_of_the_predictions_hides(model, targets, how, dtype):
    loss = losses.MeanSquaredError()

    def found():
        return gx.value_and_grad(lambda: loss(targets.astype(dtype), model(TOKENS)), wrt=model.layers[0].embeddings)()

    with gx.run_eagerly(how == "run_eagerly"):
        value, gradient = (found if how == "eager" else gx.jit(found))()
    expected = ((np.asarray(model(TOKENS)) - targets) ** 2)[KEPT].mean()
    np.testing.assert_allclose(value, expected, atol=1e-6)
    assert not np.asarray(gradient)[0].any()
    assert np.asarray(gradient)[4].any()


@pytest.mark.broad
@pytest.mark.parametrize("metric", [metrics.MeanSquaredError, metrics.BinaryAccuracy, metrics.Precision])
def test_a_metric_leaves_out_what_the_mask_of_the_predictions_hides(model, targets, metric):
    found, expected = metric(), metric()
    found.update(targets, model(TOKENS))
    expected.update(targets[KEPT], np.asarray(model(TOKENS))[KEPT])
    np.testing.assert_allclose(found.result(), expected.result(), atol=1e-6)


def makeable(namespace, base):
    found = {name: getattr(namespace, name) for name in namespace.__all__}
    return [cls for cls in found.values() if isinstance(cls, type) and issubclass(cls, base) and cls is not base]


OF_SAMPLES = (losses.Circle, losses.NTXent, losses.TripletSemiHard, losses.CTC)  # their samples have no steps
AT = (
    metrics.PrecisionAtRecall,
    metrics.RecallAtPrecision,
    metrics.SensitivityAtSpecificity,
    metrics.SpecificityAtSensitivity,
)
KINDS = [
    k
    for k in (*makeable(losses, losses.Loss), *makeable(metrics, metrics.Metric))
    if k is not metrics.SampleMetric and k not in (*OF_SAMPLES, metrics.IoU, metrics.MeanIoU)
]

CORRELATIONS = ("PearsonCorrelation", "ConcordanceCorrelation")  # along vectors of several elements


@pytest.mark.in_turn(84, 2, broad=43)
@pytest.mark.parametrize("kind", KINDS)
def test_every_loss_and_metric_heeds_a_mask_that_is_carried(kind, model, targets):
    """All there are: a new one that forgets it fails here."""
    given = [] if kind in (metrics.Mean, metrics.Sum) else [targets]
    make = partial(kind, lambda y, p: (y - p)[..., 0] ** 2) if "fn" in signature(kind).parameters else kind
    if issubclass(kind, metrics.FBetaScore):  # without a threshold classes are compared, and here is one
        make = partial(kind, threshold=0.5)
    if kind in AT:
        make = partial(kind, 0.5)
    scores = model(TOKENS)
    if "Categorical" in kind.__name__ or kind.__name__ in (
        "KLDivergence",
        "CosineSimilarity",
        "Perplexity",
        *CORRELATIONS,
    ):
        model = gx.Sequential([layers.Embedding(10, 8, mask_zero=True), layers.Dense(3, activation="softmax")])
        scores = model(TOKENS)
        labels = np.where(KEPT, TOKENS % 3, 0)
        given = (
            [labels]
            if "Sparse" in kind.__name__ or kind in (metrics.Perplexity, losses.CategoricalGeneralizedCrossEntropy)
            else [np.eye(3, dtype="float32")[labels]]
        )
        if "TopK" in kind.__name__:
            make = partial(kind, k=1)
    if kind is losses.GaussianNLL:
        scores = gx.Sequential([layers.Embedding(10, 8, mask_zero=True), layers.Dense(2)])(TOKENS)
    if kind is metrics.Accuracy:
        scores = layers.Activation(ops.round)(scores)
    plain = np.asarray(scores)
    found, expected, all_of_them = (
        make()(*given, scores),
        make()(*given, plain, mask=KEPT),
        make()(*given, plain, mask=np.ones_like(KEPT)),
    )
    np.testing.assert_allclose(found, expected, atol=1e-6)
    if kind.__name__ in ("Mean", "Sum", "MeanSquaredError"):
        assert not np.allclose(found, all_of_them)


@pytest.mark.broad
def test_a_loop_of_ones_own_trains_like_fit(model, targets):
    start = gx.state(model)
    model.compile(gx.optimizers.SGD(0.5), "mse")
    model.fit(TOKENS, targets, epochs=3, verbose=0)
    trained = gx.state(model)
    for path, variable in model.named_variables().items():
        variable.assign(start[path])
    loss, sgd = losses.MeanSquaredError(), gx.optimizers.SGD(0.5)
    step = gx.jit(lambda: sgd.minimize(lambda: loss(targets, model(TOKENS)), model))
    for _ in range(3):
        step()
    for path, value in gx.state(model).items():
        np.testing.assert_allclose(value, trained[path], atol=1e-6)


def test_a_mask_that_is_given_goes_before_the_one_that_predictions_carry(model, targets):
    everything = np.ones(TOKENS.shape, bool)
    value = losses.MeanSquaredError()(targets, model(TOKENS), mask=everything)
    np.testing.assert_allclose(value, ((np.asarray(model(TOKENS)) - targets) ** 2).mean(), atol=1e-6)
