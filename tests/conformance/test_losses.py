"""One row per loss, with its formula in float64, buys every property that all losses share."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graftax as gx
from graftax import losses, ops
from graftax.backend import registry
from tests.conformance.loss_rows import OF_SAMPLES, ROWS, Row, data, wide

pytestmark = pytest.mark.optimized


@pytest.fixture(params=ROWS.values(), ids=ROWS.keys())
def row(request) -> Row:
    return request.param


def test_the_table_has_every_loss():
    listed = {type(row.make()) for row in ROWS.values()}
    public = {c for c in vars(losses).values() if isinstance(c, type) and issubclass(c, losses.Loss)}
    assert public - listed == OF_SAMPLES | {losses.Loss, losses.FunctionLoss}


@pytest.mark.in_turn(3)
@pytest.mark.parametrize(("backend", "shape"), [("jax", (4, 3)), ("numpy", (4, 3)), ("numpy", (2, 5, 3))])
def test_values_are_those_of_the_formula(row, backend, shape):
    y, p = data(row, shape)
    expected = row.formula(*wide(y, p))
    assert expected.shape == shape[:-1]
    with registry.use(backend):
        np.testing.assert_allclose(row.make(reduction="none")(y, p), expected, rtol=2e-5, atol=2e-6)
        np.testing.assert_allclose(row.make()(y, p), expected.mean(), rtol=2e-5, atol=2e-6)
        np.testing.assert_allclose(row.make(reduction="sum")(y, p), expected.sum(), rtol=2e-5, atol=2e-6)


@pytest.mark.in_turn(4, broad=2)
def test_compiled_is_eager(row):
    y, p = data(row)
    loss, weights = row.make(), np.float32([1, 0, 2, 0.5])
    compiled = gx.jit(lambda y, p, w: loss(y, p, w))
    np.testing.assert_allclose(compiled(y, p, weights), loss(y, p, weights), rtol=1e-6)
    compiled(y, p + 0.01, weights)
    assert compiled.trace_count == 1


@pytest.mark.in_turn(4, 1)
def test_the_gradient_is_that_of_the_formula(row):
    y, p = data(row)
    gradient = gx.grad(lambda x: row.make()(y, x))(ops.asarray(p))
    y, p = wide(y, p)
    step = 1e-6
    expected = np.zeros_like(p)
    for place in np.ndindex(p.shape):
        moved = np.zeros_like(p)
        moved[place] = step
        if row.make is losses.SparseCategoricalCrossentropy:  # it normalises, which the formula need not do
            sides = [row.formula(y, (p + s * moved) / (p + s * moved).sum(-1, keepdims=True)) for s in (1, -1)]
        else:
            sides = [row.formula(y, p + s * moved) for s in (1, -1)]
        expected[place] = (sides[0].mean() - sides[1].mean()) / (2 * step)
    np.testing.assert_allclose(gradient, expected, rtol=1e-3, atol=1e-5)
    assert np.abs(expected).max() > 1e-3


@pytest.mark.parametrize("half", ["float16", "bfloat16"])
def test_half_precision_is_widened(row, half):
    y, p = data(row)
    narrow = ops.cast(p, half)
    value = row.make()(y, narrow)
    assert str(value.dtype) == "float32"
    np.testing.assert_array_equal(value, row.make()(y, ops.cast(narrow, "float32")))


def test_kl11_padding_changes_nothing(row):
    y, p = data(row, (5, 3))
    keep = np.array([True, True, True, False, False])
    weights = np.float32([1, 2, 3, 4, 5])
    with registry.use("numpy"):
        for reduction in ("sum_over_batch_size", "mean_with_sample_weight", "sum"):
            loss = row.make(reduction=reduction)
            np.testing.assert_allclose(loss(y, p, mask=keep), loss(y[:3], p[:3]), rtol=1e-6)
            np.testing.assert_allclose(loss(y, p, weights, keep), loss(y[:3], p[:3], weights[:3]), rtol=1e-6)
            assert float(loss(y, p, mask=np.zeros(5, bool))) == 0
        np.testing.assert_array_equal(row.make(reduction="none")(y, p, mask=keep)[3:], 0)


@pytest.mark.broad
@given(weights=st.lists(st.integers(0, 4), min_size=4, max_size=4), shape=st.sampled_from([(4,), (4, 1)]))
def test_weights_count_like_repeated_samples(weights, shape):
    row = ROWS["huber"]
    y, p = data(row)
    repeated = [i for i, n in enumerate(weights) for _ in range(n)]
    given_weights = np.float32(weights).reshape(shape)
    total = row.formula(*wide(y[repeated], p[repeated])).sum() if repeated else 0
    for reduction, divisor in (("sum", 1), ("sum_over_batch_size", 4), ("mean_with_sample_weight", len(repeated) or 1)):
        value = row.make(reduction=reduction)(y, p, given_weights)
        np.testing.assert_allclose(value, total / divisor, rtol=1e-5)


def test_copies_and_repr(row):
    y, p = data(row)
    loss = row.make(reduction="sum")
    text = repr(loss)
    assert text.startswith(type(loss).__name__)
    assert "reduction='sum'" in text
    for other in (copy.deepcopy(loss), pickle.loads(pickle.dumps(loss)), eval(text, vars(losses))):
        assert repr(other) == text
        np.testing.assert_array_equal(other(y, p), loss(y, p))


def test_empty_batches_and_bad_shapes_raise(row):
    y, p = data(row)
    with pytest.raises(ValueError, match=r"shape \[0(, 3)?\]"):
        row.make()(y[:0], p[:0])
    with pytest.raises(
        gx.errors.ShapeError, match=r"(?s)y_true \[3.*y_pred \[4, 3\].*where: " + type(row.make()).__name__
    ):
        row.make()(y[:3], p)
    with pytest.raises(gx.errors.ShapeError, match=r"sample_weight \[3\] for values \[4\]"):
        row.make()(y, p, np.ones(3))
