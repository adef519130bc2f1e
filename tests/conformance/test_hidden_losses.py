"""What is hidden from a loss leaves no trace: neither in the value nor in the gradient, whatever stands there."""

from functools import cache

import numpy as np
import pytest

import graftax as gx
from graftax import losses, ops
from graftax.backend import registry
from tests.conformance.lanes import crossed
from tests.conformance.loss_rows import ROWS, data

KEEP = np.bool_([[1, 0, 1], [0, 0, 0], [1, 1, 0], [0, 1, 1]])  # steps of samples; one sample is hidden as a whole
NOTHING = [np.nan, np.inf, -np.inf, -3.0, 0.0, 1e30]


def poisoned(y, p, keep, poison):
    """Both with nonsense where nothing counts: labels that are no class, numbers that are none."""
    y, p = y.copy(), p.copy()
    y[~keep] = poison if y.dtype.kind == "f" else {0.0: -1, -3.0: -(2**31)}.get(poison, 99)
    p[~keep] = poison
    return y, p


def stepwise(row):
    """Samples of three steps of three numbers: axes that sizes do not tell apart."""
    return data(row, (4, 3, 3))


def expected(row, y, p, keep=KEEP, **options):
    """Value and gradient of what is visible, as if nothing else were there."""
    loss = row.make(**options)
    value, gradient = gx.jit(gx.value_and_grad(lambda x: loss(y[keep], x)))(p[keep])
    full = np.zeros(p.shape, "float32")
    full[keep] = gradient
    return value, full


@cache
def expected_of(name, **options):
    """What all tests of a row compare with, computed once."""
    return expected(ROWS[name], *stepwise(ROWS[name]), **options)


def agrees(found, wanted):
    np.testing.assert_allclose(found[0], wanted[0], rtol=2e-5)
    np.testing.assert_allclose(found[1], wanted[1], rtol=2e-4, atol=1e-7)


@pytest.fixture(params=ROWS)
def name(request):
    return request.param


@pytest.fixture
def row(name):
    return ROWS[name]


@pytest.mark.in_turn(12, broad=5)
def test_l4_compiled_masks_hide_before_the_formula(name, row):
    y, p = stepwise(row)
    loss = row.make()
    wanted = expected_of(name)
    step = gx.jit(lambda y, p, mask: gx.value_and_grad(lambda x: loss(y, x, mask=mask))(p))
    for poison in NOTHING:
        agrees(step(*poisoned(y, p, KEEP, poison), KEEP), wanted)
    value, gradient = step(*poisoned(y, p, np.zeros_like(KEEP), np.nan), np.zeros_like(KEEP))
    assert float(value) == 0
    np.testing.assert_array_equal(gradient, 0)
    assert step.trace_count == 1


@pytest.mark.in_turn(6, 1, broad=2)
def test_l4_compiled_weights_of_0_hide_what_cannot_be_used(name, row):
    y, p = stepwise(row)
    loss = row.make(reduction="mean_with_sample_weight")
    wanted = expected_of(name)  # the same mean of what is visible
    step = gx.jit(lambda y, p, weight: gx.value_and_grad(lambda x: loss(y, x, weight))(p))
    for poison in NOTHING:
        agrees(step(*poisoned(y, p, KEEP, poison), KEEP.astype("float32")), wanted)
    assert step.trace_count == 1


@pytest.mark.in_turn(24, 2, broad=14)
def test_l4_eager_masks_hide_whole_samples_and_steps(name, row):
    y, p = stepwise(row)
    loss = row.make()
    bad = poisoned(y, p, KEEP, np.nan)
    agrees(gx.value_and_grad(lambda x: loss(bad[0], x, mask=KEEP))(ops.asarray(bad[1])), expected_of(name))
    y, p = data(row)
    keep = np.bool_([1, 0, 1, 0])
    bad = poisoned(y, p, keep, -np.inf)
    with registry.use("numpy"):
        wanted, total = (row.make(reduction=how)(y[keep], p[keep]) for how in (loss.reduction, "sum"))
    for mask in (keep, keep[:, None], keep.tolist(), ops.asarray(keep), keep.astype("int32")):
        np.testing.assert_allclose(loss(*bad, mask=mask), wanted, rtol=2e-5)
    np.testing.assert_allclose(row.make(reduction="sum")(*bad, sample_weight=2.0 * keep), 2 * total, rtol=2e-5)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["checked", "run_eagerly", "weights", "tape"])
def test_l4_in_other_ways(name, row, way):
    y, p = stepwise(row)
    wanted = expected_of(name, reduction="mean_with_sample_weight")
    bad_y, bad_p = poisoned(y, p, KEEP, np.nan)
    hides = {"sample_weight": KEEP.astype("float32")} if way == "weights" else {"mask": KEEP}
    loss = row.make(reduction="mean_with_sample_weight")
    grad = gx.value_and_grad(lambda x: loss(bad_y, x, **hides))
    if way == "checked":
        agrees(gx.jit(grad, checked=True)(bad_p), wanted)
    elif way == "run_eagerly":
        with gx.run_eagerly():
            agrees(gx.jit(grad)(bad_p), wanted)
    elif way == "tape":
        x = gx.Variable(bad_p)
        with gx.GradientTape() as tape:
            value = loss(bad_y, x, **hides)
        agrees((value, tape.gradient(value, x)), wanted)
    else:
        agrees(grad(ops.asarray(bad_p)), wanted)


@pytest.mark.in_turn(3)
@pytest.mark.parametrize(("name", "half"), crossed([*ROWS], ["float16", "bfloat16"]))
def test_l4_half_precision_is_hidden_too(name, half):
    row = ROWS[name]
    y, p = data(row)
    keep = np.bool_([1, 0, 1, 0])
    loss = row.make()
    narrow = ops.cast(p, half)
    bad = ops.where(keep[:, None], narrow, np.nan)
    np.testing.assert_allclose(
        loss(y, bad, mask=keep), loss(y[keep], ops.cast(narrow, "float32")[np.flatnonzero(keep)]), rtol=1e-5
    )


@pytest.mark.broad
@pytest.mark.parametrize("name", ["SparseCategoricalCrossentropy", "CategoricalCrossentropy", "CosineSimilarity"])
def test_l4_classes_on_another_axis(name):
    rng = np.random.default_rng(3)
    p = rng.normal(size=(4, 3, 3)).astype("float32")
    y = rng.integers(0, 3, (4, 3)) if name.startswith("Sparse") else rng.uniform(size=(4, 3, 3)).astype("float32")
    options = {"from_logits": True} if "entropy" in name else {}
    loss, last = getattr(losses, name)(axis=1, **options), getattr(losses, name)(**options)
    turned = p.swapaxes(1, 2)[KEEP], y[KEEP] if y.ndim == 2 else y.swapaxes(1, 2)[KEEP]
    value, gradient = gx.value_and_grad(lambda x: last(turned[1], x))(ops.asarray(turned[0]))
    full = np.zeros((4, 3, 3), "float32")
    full[KEEP] = gradient
    bad_y, bad_p = y.copy(), p.swapaxes(1, 2).copy()
    bad_p[~KEEP] = np.nan
    if y.ndim == 2:
        bad_y[~KEEP] = -1
    else:
        bad_y.swapaxes(1, 2)[~KEEP] = np.inf
    found = gx.value_and_grad(lambda x: loss(bad_y, x, mask=KEEP))(ops.asarray(bad_p.swapaxes(1, 2)))
    agrees(found, (value, full.swapaxes(1, 2)))


@pytest.mark.broad
@pytest.mark.parametrize(
    ("ignored", "from_logits"),
    [(-1, True), *(pytest.param(n, bool(b), marks=pytest.mark.slow) for n in (-1, 255, 1) for b in (0, 1))],
)
def test_l5_a_class_to_ignore_is_a_mask(ignored, from_logits):
    rng = np.random.default_rng(4)
    labels = rng.choice([0, 2], (4, 3)).astype("int32")
    p = rng.uniform(0.1, 1, (4, 3, 3)).astype("float32")
    loss = losses.SparseCategoricalCrossentropy(from_logits)
    wanted = expected(ROWS["huber"]._replace(make=lambda: loss), labels, p)
    bad_y, bad_p = np.where(KEEP, labels, ignored), np.where(KEEP[..., None], p, np.nan).astype("float32")
    ignoring = losses.SparseCategoricalCrossentropy(from_logits, ignore_class=ignored)
    grad = gx.value_and_grad(lambda x: ignoring(bad_y, x))
    for way in (grad, gx.jit(grad), gx.jit(grad, checked=True)):
        agrees(way(ops.asarray(bad_p)), wanted)


@pytest.mark.broad
def test_l5_labels_that_a_mask_hides_are_no_labels():
    y, p = np.int32([0, -1]), np.float32([[0.5, 0.5], [0.1, 0.9]])
    loss = losses.SparseCategoricalCrossentropy(ignore_class=7)
    for way in (loss, gx.jit(loss.__call__), gx.jit(loss.__call__, checked=True)):
        np.testing.assert_allclose(way(y, p, mask=np.bool_([True, False])), np.log(2), rtol=1e-6)
        with gx.run_eagerly():
            np.testing.assert_allclose(way(y, p, None, np.bool_([True, False])), np.log(2), rtol=1e-6)
    with pytest.raises(gx.errors.IndexRangeError, match=r"labels\[1\] = -1"):
        loss(y, p, mask=[False, True])


@pytest.mark.broad
def test_l4_somebody_elses_formula_is_finite_too():
    def likelihood(y_true, y_pred):
        return -ops.mean(y_true * ops.log(y_pred), -1)

    class Norm(losses.Loss):
        def call(self, y_true, y_pred):
            return ops.sqrt(ops.sum(ops.square(y_true["at"] - y_pred), -1))

    p, y = np.float32([[0.5, 0.25], [0.0, -1.0], [np.nan, 0.1]]), np.float32([[1, 1], [1, 1], [np.nan, 0]])
    keep = np.bool_([1, 0, 0])
    for loss, targets in ((losses.FunctionLoss(likelihood), y), (Norm(), {"at": np.where(keep[:, None], y, p)})):
        value, gradient = gx.value_and_grad(lambda x, loss=loss, y=targets: loss(y, x, mask=keep))(ops.asarray(p))
        assert np.isfinite(value)
        assert np.isfinite(gradient).all()
        np.testing.assert_array_equal(gradient[1:], 0)


@pytest.mark.broad
def test_l4_a_mask_that_fits_several_axes_hides_samples_of_somebody_elses_formula():
    def over_classes(y_true, y_pred):  # classes on axis 1, as many as steps
        return -ops.sum(y_true * ops.log_softmax(y_pred, axis=1), 1)

    rng = np.random.default_rng(5)
    y, p = rng.uniform(size=(4, 3, 3)).astype("float32"), rng.normal(size=(4, 3, 3)).astype("float32")
    own = losses.CategoricalCrossentropy(True, axis=1)
    np.testing.assert_allclose(losses.FunctionLoss(over_classes)(y, p, mask=KEEP), own(y, p, mask=KEEP), rtol=1e-5)


@pytest.mark.broad
def test_l4_the_gradient_to_a_weight_of_0_is_the_value_that_it_weighs():
    y, p = np.float32([[1.0], [2.0], [np.nan]]), np.float32([[0.0], [5.0], [1.0]])
    loss = losses.MeanSquaredError(reduction="sum")
    for way in (gx.grad, lambda fn: gx.jit(gx.grad(fn))):
        np.testing.assert_allclose(way(lambda w: loss(y, p, w))(ops.zeros(3)), [1, 9, 0])
