"""One row per loss, with its formula in float64, buys every property that all losses share."""

import copy
import pickle
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graftax as gx
from graftax import losses, ops
from graftax.backend import registry


class Row(NamedTuple):
    make: Callable[..., losses.Loss]
    targets: Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]
    predictions: Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]
    formula: Callable[[np.ndarray, np.ndarray], np.ndarray]
    """Float64 targets and predictions to one number for each sample."""


def real(rng, shape):
    return rng.normal(size=shape)


def positive(rng, shape):
    return rng.uniform(0.1, 4, shape)


def bits(rng, shape):
    return rng.integers(0, 2, shape)


def share(rng, shape):
    return rng.uniform(0.05, 0.95, shape)


def distribution(rng, shape):
    values = rng.uniform(0.05, 1, shape)
    return values / values.sum(-1, keepdims=True)


def labels(rng, shape):
    return rng.integers(0, shape[-1], shape[:-1])


def log_softmax(x):
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def smooth(y, s, classes):
    return y * (1 - s) + s / classes


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def bce(y, p):
    return -(y * np.log(p) + (1 - y) * np.log(1 - p)).mean(-1)


def huber(y, p, delta):
    d = np.abs(p - y)
    return np.where(d <= delta, d**2 / 2, delta * d - delta**2 / 2).mean(-1)


def pick(logs, y):
    return -np.take_along_axis(logs, y.astype(int)[..., None], -1)[..., 0]


def unit(x):
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def ruled(y, values, ignored):
    return np.where(y == ignored, 0, values)


L = losses
ROWS = {
    "mean_squared_error": Row(L.MeanSquaredError, real, real, lambda y, p: ((p - y) ** 2).mean(-1)),
    "mean_absolute_error": Row(L.MeanAbsoluteError, real, real, lambda y, p: np.abs(p - y).mean(-1)),
    "mean_absolute_percentage_error": Row(
        L.MeanAbsolutePercentageError, positive, real, lambda y, p: 100 * (np.abs(p - y) / np.abs(y)).mean(-1)
    ),
    "mean_squared_logarithmic_error": Row(
        L.MeanSquaredLogarithmicError,
        positive,
        positive,
        lambda y, p: ((np.log(1 + p) - np.log(1 + y)) ** 2).mean(-1),
    ),
    "huber": Row(lambda **o: L.Huber(0.7, **o), real, real, lambda y, p: huber(y, p, 0.7)),
    "log_cosh": Row(L.LogCosh, real, real, lambda y, p: np.log(np.cosh(p - y)).mean(-1)),
    "poisson": Row(L.Poisson, positive, positive, lambda y, p: (p - y * np.log(p)).mean(-1)),
    "cosine_similarity": Row(L.CosineSimilarity, real, real, lambda y, p: -(unit(y) * unit(p)).sum(-1)),
    "binary_crossentropy": Row(L.BinaryCrossentropy, bits, share, bce),
    "binary_crossentropy_logits": Row(
        lambda **o: L.BinaryCrossentropy(True, 0.2, **o), bits, real, lambda y, p: bce(smooth(y, 0.2, 2), sigmoid(p))
    ),
    "categorical_crossentropy": Row(
        L.CategoricalCrossentropy,
        distribution,
        positive,
        lambda y, p: -(y * np.log(p / p.sum(-1, keepdims=True))).sum(-1),
    ),
    "categorical_crossentropy_logits": Row(
        lambda **o: L.CategoricalCrossentropy(True, 0.1, **o),
        distribution,
        real,
        lambda y, p: -(smooth(y, 0.1, y.shape[-1]) * log_softmax(p)).sum(-1),
    ),
    "sparse_categorical_crossentropy": Row(
        L.SparseCategoricalCrossentropy, labels, distribution, lambda y, p: pick(np.log(p), y)
    ),
    "sparse_categorical_crossentropy_logits": Row(
        lambda **o: L.SparseCategoricalCrossentropy(True, **o), labels, real, lambda y, p: pick(log_softmax(p), y)
    ),
    "kl_divergence": Row(L.KLDivergence, distribution, distribution, lambda y, p: (y * np.log(y / p)).sum(-1)),
    "hinge": Row(L.Hinge, bits, real, lambda y, p: np.maximum(1 - (2 * y - 1) * p, 0).mean(-1)),
    "squared_hinge": Row(L.SquaredHinge, bits, real, lambda y, p: (np.maximum(1 - (2 * y - 1) * p, 0) ** 2).mean(-1)),
}


@pytest.fixture(params=ROWS.values(), ids=ROWS.keys())
def row(request) -> Row:
    return request.param


def data(row: Row, shape=(4, 3), dtype="float32"):
    """Targets and predictions, the floats such that float32 and float64 hold the same numbers."""
    rng = np.random.default_rng(1)
    y, p = row.targets(rng, shape), row.predictions(rng, shape)
    return (y.astype("float32") if y.dtype.kind == "f" else y.astype("int32")), p.astype(dtype)


def wide(*arrays):
    return tuple(a.astype("float64") for a in arrays)


def test_the_table_has_every_loss():
    listed = {type(row.make()) for row in ROWS.values()}
    public = {c for c in vars(losses).values() if isinstance(c, type) and issubclass(c, losses.Loss)}
    assert public - listed == {losses.Loss, losses.FunctionLoss}


@pytest.mark.parametrize(("backend", "shape"), [("jax", (4, 3)), ("numpy", (4, 3)), ("numpy", (2, 5, 3))])
def test_values_are_those_of_the_formula(row, backend, shape):
    y, p = data(row, shape)
    expected = row.formula(*wide(y, p))
    assert expected.shape == shape[:-1]
    with registry.use(backend):
        np.testing.assert_allclose(row.make(reduction="none")(y, p), expected, rtol=2e-5, atol=2e-6)
        np.testing.assert_allclose(row.make()(y, p), expected.mean(), rtol=2e-5, atol=2e-6)
        np.testing.assert_allclose(row.make(reduction="sum")(y, p), expected.sum(), rtol=2e-5, atol=2e-6)


def test_compiled_is_eager(row):
    y, p = data(row)
    loss, weights = row.make(), np.float32([1, 0, 2, 0.5])
    compiled = gx.jit(lambda y, p, w: loss(y, p, w))
    np.testing.assert_allclose(compiled(y, p, weights), loss(y, p, weights), rtol=1e-6)
    compiled(y, p + 0.01, weights)
    assert compiled.trace_count == 1


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
