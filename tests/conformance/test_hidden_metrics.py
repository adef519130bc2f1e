"""What is hidden from a metric leaves no trace, whatever stands there; batches of nothing change nothing."""

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.backend import registry
from graftax.metrics.registry import _FORMULAS
from tests.conformance.metric_rows import ROWS, M, data, one_side

KEEP = np.bool_([[1, 0, 1], [0, 0, 0], [1, 1, 0], [0, 1, 1]])
COUNTS = (M.TruePositives, M.TrueNegatives, M.FalsePositives, M.FalseNegatives)
NOTHING = [np.nan, np.inf, -np.inf, -3.0, 0.0]


def poisoned(y, p, keep, poison):
    """Both with nonsense where nothing counts: labels that are no class, numbers that are none."""
    y, p = y.copy(), p.copy()
    for values, number in ((y, {0.0: -1, -3.0: -(2**31)}.get(poison, 99)), (p, 7)):
        values[~keep] = poison if values.dtype.kind == "f" else number
    return y, p


def stepwise(row):
    """Steps of three numbers, for a mask of samples and steps; of one number, where each element is a value."""
    by_element = row.make in (M.Accuracy, M.BinaryAccuracy, M.RootMeanSquaredError, M.Precision, M.Recall, M.AUC)
    by_element |= row.make in COUNTS
    return data(row, (4, 3) if by_element else (4, 3, 3))


def value(metric, *args, **options):
    metric.reset()
    metric.update(*args, **options)
    return float(metric.result())


def visible(row, y, p):
    """What a metric gives for what is shown alone, in NumPy, which compiles nothing for these shapes."""
    with registry.use("numpy"):
        return value(row.make(), y, p)


@pytest.fixture(params=ROWS.values(), ids=ROWS.keys())
def row(request):
    return request.param


@pytest.mark.in_turn(6, broad=3)
def test_l4_compiled_metrics_count_only_what_is_visible(row):
    y, p = stepwise(row)
    metric = row.make()
    wanted = visible(row, y[KEEP], p[KEEP])

    @gx.jit
    def step(y, p, mask, weight):
        metric.reset()
        metric.update(y, p, weight, mask=mask)
        return metric.result()

    ones, all_kept = np.ones((4, 3), "float32"), np.ones((4, 3), bool)
    for poison in NOTHING:
        bad = poisoned(y, p, KEEP, poison)
        np.testing.assert_allclose(step(*bad, KEEP, ones), wanted, rtol=1e-5)
        np.testing.assert_allclose(step(*bad, all_kept, KEEP.astype("float32")), wanted, rtol=1e-5)
        weights = np.where(KEEP, 1, np.nan).astype("float32")  # weights are hidden, too
        np.testing.assert_allclose(step(*bad, KEEP, weights), wanted, rtol=1e-5)
    assert step.trace_count == 1


@pytest.mark.in_turn(3, 1)
def test_l4_eager_metrics_count_only_what_is_visible(row):
    y, p = data(row)
    keep = np.arange(12) % 3 > 0
    metric = row.make()
    wanted = visible(row, y[keep], p[keep])
    bad = poisoned(y, p, keep, np.nan)
    weight = 1.0 if row.make in COUNTS else 2.0  # which changes no mean, but counts
    for hides in ({"mask": keep}, {"mask": keep[:, None].tolist()}, {"sample_weight": keep * weight}):
        np.testing.assert_allclose(value(metric, *bad, **hides), wanted, rtol=1e-5)
    with registry.use("numpy"):
        np.testing.assert_allclose(value(row.make(), *bad, mask=keep), wanted, rtol=1e-5)


@pytest.mark.slow
def test_l4_checked_and_eagerly_run_metrics(row):
    y, p = stepwise(row)
    metric = row.make()
    wanted = value(metric, y[KEEP], p[KEEP])
    bad = poisoned(y, p, KEEP, np.nan)
    update = gx.jit(lambda y, p, mask: metric.update(y, p, mask=mask), checked=True)
    metric.reset()
    update(*bad, KEEP)
    np.testing.assert_allclose(metric.result(), wanted, rtol=1e-5)
    metric.reset()
    with gx.run_eagerly():
        update(*bad, KEEP)
    np.testing.assert_allclose(metric.result(), wanted, rtol=1e-5)


NEED_CLASSES = (M.CategoricalAccuracy, M.CategoricalCrossentropy, M.CategoricalHinge, ROWS["top_k"].make)


@pytest.mark.in_turn(12, 2, broad=7)
def test_l13_an_empty_batch_changes_nothing(row):
    y, p = data(row)
    metric = row.make()
    metric.update(y[:0], p[:0])
    assert float(metric.result()) == 0
    metric.update(y, p)
    before = float(metric.result())
    empty = np.zeros(0, "float32")
    for options in ({}, {"mask": empty > 0}, {"sample_weight": empty}):
        metric.update(y[:0], p[:0], **options)
    if y.shape == p.shape and row.make not in NEED_CLASSES:
        metric.update(y[:, :0], p[:, :0])  # samples of nothing, too
    assert float(metric.result()) == before
    with pytest.raises(gx.errors.ShapeError, match=r"\[3\] for values \[0"):
        metric.update(y[:0], p[:0], sample_weight=np.ones(3))


def test_l13_means_of_empty_batches():
    for metric in (M.Mean(), M.Sum()):
        metric.update(np.zeros((0, 3), "float32"))
        metric.update([2.0, 4.0])
        metric.update([])
        assert float(metric.result()) in (3, 6)


LABELLED = {
    "accuracy": M.SparseCategoricalAccuracy,
    "top_k": lambda **options: M.SparseTopKCategoricalAccuracy(2, **options),
    "crossentropy": M.SparseCategoricalCrossentropy,
}


@pytest.mark.broad
@pytest.mark.parametrize("make", LABELLED.values(), ids=LABELLED.keys())
@pytest.mark.parametrize("ignored", [-1, 255, 1])
def test_l5_metrics_take_a_class_to_ignore(make, ignored):
    rng = np.random.default_rng(6)
    labels, p = rng.choice([0, 2], (4, 3)), rng.uniform(0.1, 1, (4, 3, 3)).astype("float32")
    wanted = value(make(), labels[KEEP], p[KEEP])
    bad = np.where(KEEP, labels, ignored), np.where(KEEP[..., None], p, np.nan).astype("float32")
    metric, turned = make(ignore_class=ignored), make(ignore_class=ignored, axis=1)
    np.testing.assert_allclose(value(metric, *bad), wanted, rtol=1e-5)
    np.testing.assert_allclose(value(turned, bad[0], bad[1].swapaxes(1, 2)), wanted, rtol=1e-5)
    if ignored == -1:
        metric.reset()
        np.testing.assert_allclose(gx.jit(lambda y, p: metric(y, p), checked=True)(*bad), wanted, rtol=1e-5)


@pytest.mark.in_turn(3, 1)
@pytest.mark.parametrize("name", _FORMULAS)
def test_l4_metrics_that_only_have_names(name):
    rng = np.random.default_rng(7)
    kind = "bits" if "hinge" in name else "share"
    y, p = one_side(rng, kind, (4, 3, 3)), one_side(rng, "share", (4, 3, 3))
    metric = M.get(name)
    assert metric.name == name
    values = np.asarray(_FORMULAS[name][1](y, p))
    np.testing.assert_allclose(value(metric, y, p), values.mean(), rtol=1e-5)
    np.testing.assert_allclose(value(metric, *poisoned(y, p, KEEP, np.nan), mask=KEEP), values[KEEP].mean(), rtol=1e-5)


@pytest.mark.broad
def test_l8_sums_of_half_precision_are_kept_in_float32():
    many = ops.full((100,), 3e4, "float16")
    assert float(M.Mean()(many)) == float(np.float16(3e4))
    assert float(M.Sum()(many)) == 100 * float(np.float16(3e4))
    assert float(M.MeanSquaredError()(many, -many)) == pytest.approx((2 * float(np.float16(3e4))) ** 2)
    with pytest.raises(gx.errors.ArgumentError, match="narrower than float32"):
        M.Mean(dtype="float16")


@pytest.mark.broad
def test_l8_accuracies_count_beyond_what_float32_can():
    metric = M.SparseCategoricalAccuracy()
    batch = 2**22 + 1
    y, p = np.zeros(batch, "int8"), np.tile(np.float32([[1, 0]]), (batch, 1))
    step = gx.jit(lambda y, p: metric.update(y, p))
    for _ in range(9):
        step(y, p)
    high, low = metric.sums.numpy().astype("float64")
    assert (high + low).tolist() == [9 * batch, 9 * batch]
