"""One row per metric, with its formula in float64 over all samples at once, buys what all metrics share."""

import copy
import pickle

import numpy as np
import pytest

import graftax as gx
from graftax.backend import registry
from tests.conformance.metric_rows import OTHERS, ROWS, M, Row, data, wide


@pytest.fixture(params=ROWS.values(), ids=ROWS.keys())
def row(request) -> Row:
    return request.param


def test_the_table_has_every_metric():
    public = {c for c in vars(M).values() if isinstance(c, type) and issubclass(c, M.Metric)}
    assert public - {type(row.make()) for row in ROWS.values()} == OTHERS


@pytest.mark.in_turn(12, broad=6)
@pytest.mark.parametrize(("backend", "shape", "cuts"), [("jax", (12, 5), (0, 6)), ("numpy", (12, 2, 5), (0, 5, 6))])
def test_batches_of_any_size_give_the_formula_of_all(row, backend, shape, cuts):
    y, p = data(row, (24, 5) if row.make in (M.Precision, M.Recall) else shape)
    expected = row.formula(*wide(y, p), np.ones(len(y)))
    with registry.use(backend):
        metric = row.make()
        for start, end in zip(cuts, (*cuts[1:], None), strict=True):
            metric.update(y[start:end], p[start:end])
        np.testing.assert_allclose(metric.result(), expected, rtol=2e-5)
        metric.reset()
        assert float(metric.result()) == 0
        np.testing.assert_allclose(metric(y, p), expected, rtol=2e-5)


@pytest.mark.broad
@pytest.mark.in_turn(2)
def test_weights(row):
    y, p = data(row)
    weights = np.random.default_rng(3).uniform(0, 2, 12).astype("float32")
    metric = row.make()
    metric.update(y[:4], p[:4], weights[:4])
    metric.update(y[4:], p[4:], sample_weight=weights[4:, None])
    np.testing.assert_allclose(metric.result(), row.formula(*wide(y, p), weights.astype("float64")), rtol=2e-5)
    before = metric.result()
    metric.update(y, p, np.zeros(12, "float32"))
    np.testing.assert_allclose(metric.result(), before, rtol=1e-6)


@pytest.mark.in_turn(9, 2)
def test_kl11_a_mask_leaves_samples_out(row):
    y, p = data(row)
    keep = np.arange(12) % 3 > 0
    weights = np.arange(12, dtype="float32")
    for extra, kept in (((), ()), ((weights,), (weights[keep],))):
        masked, plain = row.make(), row.make()
        masked.update(y, p, *extra, mask=keep)
        plain.update(y[keep], p[keep], *kept)
        np.testing.assert_allclose(masked.result(), plain.result(), rtol=1e-6)


@pytest.mark.in_turn(6, broad=3)
def test_compiled_is_eager(row):
    y, p = data(row)
    eager, compiled = row.make(), row.make()
    step = gx.jit(lambda y, p: compiled(y, p))
    for part in (slice(0, 6), slice(6, None)):
        np.testing.assert_allclose(step(y[part], p[part]), eager(y[part], p[part]), rtol=1e-6)
    assert step.trace_count == 1
    compiled.reset()
    assert float(compiled.result()) == 0


def test_mt4_variables_are_no_weights(row):
    metric = row.make()
    assert metric.trainable_variables == []
    assert {v.role for v in metric.variables} == {"metric"}
    assert [v.path for v in metric.variables] == ["sums"]


def test_copies_carry_the_state_and_reset_apart(row):
    y, p = data(row)
    metric = row.make()
    metric.update(y, p)
    value = float(metric.result())
    for other in (copy.deepcopy(metric), pickle.loads(pickle.dumps(metric))):
        assert float(other.result()) == value
        other.reset()
        assert float(other.result()) == 0
    assert float(metric.result()) == value
    assert repr(metric) == f"{type(metric).__name__}(name={metric.name!r})"


def test_half_precision_is_widened(row):
    y, p = data(row)
    narrow = p.astype("float16") if p.dtype.kind == "f" else p
    np.testing.assert_allclose(row.make()(y, narrow), row.make()(y, narrow.astype("float32")), rtol=1e-6)


def test_what_does_not_fit_raises(row):
    if row.make is ROWS["mean_metric_wrapper"].make:
        pytest.skip("a function checks its own arguments")
    y, p = data(row)
    with pytest.raises(gx.errors.ShapeError, match=r"(?s)y_true \[4.*y_pred \[12, 5\].*where: the metric"):
        row.make().update(y[:4], p)
    with pytest.raises(gx.errors.ShapeError, match=r"sample_weight \[3\] for values \[12"):
        row.make().update(y, p, np.ones(3))
