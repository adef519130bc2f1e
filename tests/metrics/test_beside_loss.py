"""Metrics that read probabilities are refused beside a loss whose predictions are logits, and the other way round."""

import inspect
import math
import re
import warnings

import numpy as np
import pytest

import graftax as gx
from graftax import layers, losses, metrics
from graftax.core.errors import ArgumentError

X = np.linspace(-3, 3, 16, dtype="float32").reshape(8, 2)
BINARY = (X[:, :1] > 0.4).astype("float32")

LOGITS = {
    "binary": losses.BinaryCrossentropy(from_logits=True),
    "categorical": losses.CategoricalCrossentropy(from_logits=True),
    "sparse": losses.SparseCategoricalCrossentropy(from_logits=True),
}
REQUIRED = {
    "SensitivityAtSpecificity": {"specificity": 0.5},
    "SpecificityAtSensitivity": {"sensitivity": 0.5},
    "PrecisionAtRecall": {"recall": 0.5},
    "RecallAtPrecision": {"precision": 0.5},
}
CLASSES = {n: getattr(metrics, n) for n in metrics.__all__ if inspect.isclass(getattr(metrics, n))}


def readers(argument):
    """All metrics with an argument that says what predictions are, so that none that is new is forgotten."""
    return {n: c for n, c in CLASSES.items() if argument in inspect.signature(c.__init__).parameters}


def model(**options):
    made = gx.Sequential([layers.Dense(1)])
    made.compile("sgd", **options)
    return made


@pytest.mark.parametrize("how", ["one", "dict", "list"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", readers("threshold"))
def test_the_threshold_of_probabilities_beside_logits_is_refused_at_once(name, weighted, how):
    key, cls = "weighted_metrics" if weighted else "metrics", CLASSES[name]
    wrap = {
        "one": lambda one: one,
        "dict": lambda one: {"a": one, "b": None if isinstance(one, losses.Loss) else []},
        "list": lambda one: [one, None if isinstance(one, losses.Loss) else []],
    }[how]

    def compiled(metric):
        return model(loss=wrap(LOGITS["binary"]), **{key: wrap([metric])})

    with pytest.raises(ArgumentError, match="beside") as caught:
        compiled(cls(threshold=0.5))
    average = '"macro", ' if issubclass(cls, metrics.FBetaScore) else ""
    assert caught.value.instead == f"{name}({average}threshold=0.0)"
    compiled(eval(caught.value.instead, vars(metrics)))


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("kind", LOGITS)
@pytest.mark.parametrize("name", readers("from_logits"))
def test_from_logits_is_that_of_the_loss(name, kind):
    for logits in (True, False):
        loss = type(LOGITS[kind])(from_logits=logits)
        with pytest.raises(ArgumentError, match="both read the predictions of one output") as caught:
            model(loss=loss, metrics=[CLASSES[name](**REQUIRED.get(name, {}), from_logits=not logits)])
        model(loss=loss, metrics=[eval(caught.value.instead, vars(metrics))])


def test_a_loss_by_name_takes_probabilities():
    with pytest.raises(ArgumentError, match=r"from_logits=False"):
        model(loss="binary_crossentropy", metrics=[metrics.BinaryCrossentropy(from_logits=True)])
    with pytest.raises(ArgumentError, match="one side of 0"):
        model(loss="binary_crossentropy", metrics=[metrics.Precision(threshold=0.0)])


@pytest.mark.parametrize("metric", [metrics.Precision(), metrics.Recall(), metrics.BinaryAccuracy()])
def test_logits_of_classes_have_no_threshold_of_their_own(metric):
    with pytest.raises(ArgumentError, match="logits of classes"):
        model(loss=LOGITS["categorical"], metrics=[metric])


def test_other_thresholds_between_0_and_1_are_told():
    with pytest.warns(UserWarning, match=r"write Precision\(threshold=2\.19722\)"):
        model(loss=LOGITS["binary"], metrics=[metrics.Precision(threshold=0.9)])
    assert 1 / (1 + math.exp(-2.19722)) == pytest.approx(0.9, abs=1e-5)


def test_divergences_and_methods_of_losses():
    wide = gx.Sequential([layers.Dense(2)])
    wide.compile("sgd", LOGITS["categorical"], metrics=["kl_divergence"])
    with pytest.raises(ArgumentError, match="softmax"):
        wide.fit(X, np.eye(2)[[0, 1] * 4], verbose=0)
    with pytest.raises(ArgumentError, match="what the metric is made of|from_logits"):
        model(
            loss=LOGITS["binary"],
            metrics=[metrics.MeanMetricWrapper(losses.BinaryCrossentropy().call)],
        )


def test_what_only_the_outputs_can_tell_is_told_at_the_first_batch():
    class Two(gx.Model):
        def __init__(self):
            super().__init__()
            self.dense = layers.Dense(1)

        def call(self, x):
            return {"a": self.dense(x), "b": self.dense(x)}

    made = Two()
    made.compile("sgd", {"a": LOGITS["binary"], "b": "mse"}, metrics=[[metrics.Recall()], ["mae"]])
    with pytest.raises(ArgumentError, match=re.escape("Recall(threshold=0.0)")):
        made.fit(X, {"a": BINARY, "b": BINARY}, verbose=0)


@pytest.mark.broad
@pytest.mark.parametrize("metric", [metrics.BinaryCrossentropy(), "kl_divergence", "binary_crossentropy"])
def test_a_metric_of_probabilities_that_gets_raw_scores_warns_once(metric):
    made = gx.Sequential([layers.Dense(1, kernel_initializer="ones")])
    made.compile("sgd", "mse", metrics=[metric])
    y = np.repeat(BINARY, 1, 1)
    if metric == "kl_divergence":
        made = gx.Sequential([layers.Dense(2, kernel_initializer="ones")])
        made.compile("sgd", "mse", metrics=[metric])
        y = np.eye(2, dtype="float32")[[0, 1] * 4]
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for _ in range(2):
            made.fit(X, y, verbose=0)
    (one,) = seen
    assert "A metric of them means nothing" in str(one.message)


@pytest.mark.broad
def test_raw_scores_of_the_first_of_several_steps_are_seen():
    made = gx.Sequential([layers.Dense(1, kernel_initializer="ones")])
    made.compile(gx.optimizers.SGD(0.0), "binary_crossentropy", steps_per_execution=2)
    x = np.array([[5.0], [0.5]], "float32")
    with pytest.warns(UserWarning, match="y_pred = 5"):
        made.fit(x, np.ones((2, 1)), batch_size=1, shuffle=False, verbose=0)


def test_f_scores_and_counts_have_a_threshold_that_fits_the_loss():
    for metric, line in (
        (metrics.F1Score("macro", threshold=0.5), 'F1Score("macro", threshold=0.0)'),
        (metrics.TruePositives(), "TruePositives(thresholds=0.0)"),
        (metrics.FalseNegatives([-1.0, 0.5]), "FalseNegatives(thresholds=0.0)"),
    ):
        with pytest.raises(ArgumentError) as caught:
            model(loss=LOGITS["binary"], metrics=[metric])
        assert caught.value.instead == line
    with pytest.raises(ArgumentError, match="from_logits=True"):
        model(loss=LOGITS["binary"], metrics=[metrics.AUC()])
    model(loss=LOGITS["binary"], metrics=[metrics.F1Score("macro", threshold=0.0), metrics.TrueNegatives(0.0)])
