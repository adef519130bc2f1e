"""Every argument of every loss, metric, initializer, regularizer and constraint is looked at when it is given."""

import inspect

import numpy as np
import pytest

import graftax as gx
from graftax import constraints, initializers, losses, metrics, regularizers
from graftax.core.errors import GraftaxError

NAN, INF = float("nan"), float("inf")
NO_NUMBER = [NAN, "1", None, True, [0.5]]
NO_AXIS = [1.5, None, True, "last", NAN]
BAD = {
    "from_logits": [None, 1, "yes", NAN],
    "zero_infinity": [None, 1, "yes", NAN],
    "label_smoothing": [5, 1.0, -0.1, INF, -INF, *NO_NUMBER],
    "axis": NO_AXIS,
    "ignore_class": [1.5, "-1", True, 2**40, NAN],
    "threshold": [INF, *NO_NUMBER],
    "thresholds": [INF, NAN, "1", True, [INF], ["1"], [None], [True], 3 + 1j],
    "num_thresholds": [0, 1, 2.5, True, "5", NAN, None],
    "curve": ["PRC", None, 3],
    "summation_method": ["mean", None, 3],
    "average": ["mean", 3, True, NAN],
    "beta": [-1, INF, *NO_NUMBER],
    "alpha": [-0.1, INF, *NO_NUMBER],
    "gamma": [-1.0, INF, *NO_NUMBER],
    "epsilon": [0, -1.0, INF, *NO_NUMBER],
    **{name: [-0.1, 1.1, INF, *NO_NUMBER] for name in ("sensitivity", "specificity", "precision", "recall")},
    "q": [0, 1.5, INF, *NO_NUMBER],
    "multi_label": [1, "yes", None],
    "num_labels": [0, 3],  # several without multi_label
    "label_weights": [1.0, [], [-1.0], ["1"]],
    "temperature": [0, -1.0, INF, *NO_NUMBER],
    "margin": [0, -1.0, INF, *NO_NUMBER],
    "blank": [-1, 1.5, *NO_NUMBER],
    "full": [1, "yes", None],
    "from_log_variance": [1, "yes", None],
    "apply_class_balancing": [1, "yes", None],
    "top_k": [0, -1, 2.5, True, "5", NAN],
    "class_id": [-1, 2.5, True, "5", NAN],
    "num_classes": [1, 0, 2.5, True, "5", NAN, None],
    "target_class_ids": [[3], [-1], [0, 0], 1, [], ["1"], [1.5]],
    "sparse_y_true": [1, "yes", None],
    "sparse_y_pred": [1, "yes", None],
    "class_aggregation": ["mean", 3, True],
    "pos_weight": [-1.0, INF, "1", True, [], [-1.0], ["1"]],
    "class_weight": [1.0, INF, "12", True, [], [-1.0], {0: 1.0}],
    "k": [0, -1, 2.5, True, "5", NAN, None],
    "delta": [0, -1, INF, *NO_NUMBER],
    "reduction": ["mean", "avg", None, 3],
    "dtype": ["float16", "bfloat16", "int32", "bool", "nonsense", None, 3, np.float16],
    "name": ["1st", "a b", ""],
    "fn": [3, "mse", int, lambda y: y],
    # initializers
    "mean": [INF, *NO_NUMBER],
    "stddev": [-1.0, INF, *NO_NUMBER],
    "minval": [1.0, INF, *NO_NUMBER],
    "maxval": [-1.0, INF, *NO_NUMBER],
    "gain": [INF, *NO_NUMBER],
    "scale": [0, -1.0, INF, *NO_NUMBER],
    "mode": ["fan", "row", None, 3],
    "distribution": ["normally", None],
    "seed": [1.5, "1", True, -1, NAN],
    "value": ["1", None],
    # regularizers and constraints
    "l1": [-1.0, INF, *NO_NUMBER],
    "l2": [-1.0, INF, *NO_NUMBER],
    "factor": [-1.0, INF, *NO_NUMBER],
    "max_value": [-1.0, *NO_NUMBER],
    "min_value": [-1.0, INF, *NO_NUMBER],
    "rate": [-0.1, 1.1, *NO_NUMBER],
    "radius": [-1.0, *NO_NUMBER],
    "total": [0.0, -1.0, INF, *NO_NUMBER],
    "lower": [2.0, *NO_NUMBER],
    "upper": [-1.0, *NO_NUMBER],
}
GOOD = {
    **dict.fromkeys(("sensitivity", "specificity", "precision", "recall"), 0.5),
    "num_classes": 3,
    "fn": lambda y_true, y_pred: y_pred - y_true,
}
BASES = {
    losses.Loss,
    metrics.Metric,
    metrics.SampleMetric,
    initializers.BaseInitializer,
    regularizers.BaseRegularizer,
    constraints.BaseConstraint,
}


def classes():
    for module, base in (
        (losses, losses.Loss),
        (metrics, metrics.Metric),
        (initializers, initializers.BaseInitializer),
        (regularizers, regularizers.BaseRegularizer),
        (constraints, constraints.BaseConstraint),
    ):
        for cls in vars(module).values():
            if isinstance(cls, type) and issubclass(cls, base) and cls not in BASES:
                yield cls


def arguments():
    for cls in classes():
        for name in inspect.signature(cls.__init__).parameters:
            if name not in ("self", "args", "kwargs"):
                yield pytest.param(cls, name, id=f"{cls.__module__.split('.')[-1]}.{cls.__name__}-{name}")


@pytest.mark.parametrize(("cls", "name"), list(arguments()))
def test_l14_every_argument_is_checked_when_it_is_given(cls, name):
    needed = {n: GOOD[n] for n, p in inspect.signature(cls.__init__).parameters.items() if n in GOOD}
    cls(**needed)
    for value in BAD[name]:  # an argument without a row is a KeyError
        if name == "axis" and issubclass(cls, constraints.BaseConstraint) and value is None:
            continue
        if name == "axis" and issubclass(cls, losses.Loss) and value is None and getattr(cls(), "axis", None) is None:
            continue  # all but the first
        if name == "num_thresholds" and value == 1 and not issubclass(cls, metrics.AUC):
            continue  # a curve has two points, a best share is at one threshold, too
        if name == "threshold" and value == [0.5] and issubclass(cls, (metrics.Precision, metrics.Recall)):
            continue  # a list gives a share for each
        if name == "threshold" and issubclass(cls, metrics.FBetaScore) and value is None:  # the largest of a row
            continue
        try:
            made = cls(**needed | {name: value})
        except GraftaxError:
            continue
        pytest.fail(f"{made!r} was made with {name}={value!r}")


@pytest.mark.parametrize(
    ("make", "wanted"),
    [
        (lambda one: losses.Huber(one(2)).delta, 2.0),
        (lambda one: losses.BinaryCrossentropy(label_smoothing=one(0)).label_smoothing, 0.0),
        (lambda one: metrics.BinaryAccuracy(one(1)).threshold, 1.0),
        (lambda one: regularizers.L2(one(1)).l2, 1.0),
        (lambda one: constraints.MaxNorm(one(1)).max_value, 1.0),
        (lambda one: constraints.Box(one(0), one(1)).upper, 1.0),
        (lambda one: initializers.RandomNormal(one(0), one(1)).stddev, 1.0),
    ],
)
def test_numbers_of_numpy_are_numbers(make, wanted):
    for kind in (int, float, np.float32, np.float64, np.int64):
        assert make(kind) == wanted


def test_integers_of_numpy_are_integers():
    assert metrics.TopKCategoricalAccuracy(np.int64(3)).k == 3
    assert losses.CosineSimilarity(np.int32(0)).axis == 0
    assert losses.SparseCategoricalCrossentropy(ignore_class=np.int8(-1)).ignore_class == -1
    assert metrics.Mean(dtype=np.float32).sums.dtype == "float32"


@pytest.mark.broad
def test_a_mask_is_no_weight():
    y, p = np.zeros((2, 1), "float32"), np.ones((2, 1), "float32")
    for call in (losses.MeanSquaredError().__call__, metrics.MeanSquaredError().update, metrics.Recall().update):
        with pytest.raises(gx.errors.ArgumentError, match=r"(?s)a mask \[2\] that holds 0.3.*sample_weight="):
            call(y, p, mask=np.float32([1, 0.3]))
        call(y, p, mask=[1, 0])


def test_more_classes_to_look_at_than_there_are():
    with pytest.raises(gx.errors.ArgumentError, match="k=5 of 3 classes"):
        metrics.TopKCategoricalAccuracy()(np.eye(3, dtype="float32"), np.eye(3, dtype="float32"))


def test_functions_of_other_arguments():
    with pytest.raises(gx.errors.ArgumentTypeError, match="called with"):
        metrics.get(lambda y_true: y_true)
    with pytest.raises(gx.errors.ArgumentTypeError, match="a loss is of one"):
        losses.get(metrics.MeanSquaredError())


def test_what_an_integer_variable_cannot_hold_is_refused():
    key = gx.backend.registry.current().random.key(0)
    for name, cls in vars(initializers).items():
        if isinstance(cls, type) and issubclass(cls, initializers.BaseInitializer) and cls.draws and cls not in BASES:
            with pytest.raises(gx.errors.DTypeError, match=rf"(?s){name}.*int32.*real numbers"):
                cls()(key, (2, 2), "int32")
    with pytest.raises(gx.errors.ArgumentError, match=r"Constant\(0.5\) for a variable of dtype int32"):
        initializers.Constant(0.5)(None, (2,), "int32")
    assert initializers.Constant(3.0)(None, (2,), "int32").tolist() == [3, 3]


@pytest.mark.broad
def test_targets_that_a_loss_is_not_made_for():
    ones = np.ones((2, 1), "float32")
    for loss, bad in ((losses.Hinge(), 3.0), (losses.SquaredHinge(), -2.0), (losses.Poisson(), -1.0)):
        for call in (lambda y, p, loss=loss: loss(y, p), lambda y, p, loss=loss: loss.check_targets(y, p.shape)):
            with pytest.raises(gx.errors.ArgumentError, match=r"y_true\[0, 0\]"):
                call(bad * ones, ones)
            call(ones, ones)
        assert np.isfinite(loss(bad * ones, ones, mask=[True, False], sample_weight=[0.0, 1.0]))


def test_weights_are_real():
    for call in (losses.MeanSquaredError().__call__, metrics.MeanSquaredError().update):
        with pytest.raises(gx.errors.DTypeError, match="weights are real"):
            call(np.ones((2, 1)), np.ones((2, 1)), np.complex64([1, 2j]))


@pytest.mark.broad
def test_l8_sums_of_integers_lose_no_digit():
    for values in (np.int32([2**24 + 1]), np.int16([30000] * 559) + np.int16([241] + [0] * 558)):
        total = metrics.Sum()
        for _ in range(3):
            total.update(values)
        high, low = total.sums.numpy().astype("float64")
        assert (high + low).tolist() == [3 * int(values.sum())]
    assert float(metrics.Sum()([1.0, np.nan], mask=[True, False])) == 1
