"""Half precision is summed in float32, narrow integers in 32 bits; infinities in logsumexp: L8, L9."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.backend.registry import use
from tests.conformance.lanes import crossed

pytestmark = pytest.mark.optimized
both = pytest.mark.parametrize("backend", ["jax", "numpy"])
HALVES = ["float16", "bfloat16"]
LARGE = np.array([3e4, 3e4, -3e4, 3e4, -3e4, -1e4], "float32")
IMAGE = np.array([3e4, 3e4, -3e4, -2e4], "float32").reshape(1, 2, 2, 1)

STAYING: dict[str, tuple[Callable[[Any], Any], np.ndarray[Any, Any]]] = {
    "sum": (ops.sum, LARGE),
    "mean": (ops.mean, np.full(7, 6e4, "float32")),
    "std": (ops.std, LARGE),
    "norm": (ops.norm, np.array([300.0, 400.0, 300.0], "float32")),
    "norm-3": (lambda x: ops.norm(x, 3), np.array([300.0, 400.0, 300.0], "float32")),
    "median": (ops.median, np.array([6e4, 6e4, 5e4, 6.2e4], "float32")),
    "quantile": (lambda x: ops.quantile(x, 0.5), np.array([6e4, 6e4, 5e4, 6.2e4], "float32")),
    "moments": (lambda x: ops.moments(x)[0], np.full(70, 3e4, "float32")),
    "standardize": (ops.standardize, LARGE),
    "softmax": (ops.softmax, np.zeros(70_000, "float32")),
    "log_softmax": (ops.log_softmax, np.zeros(70_000, "float32")),
    "logsumexp": (ops.logsumexp, np.full(70_000, 3, "float32")),
    "cumsum": (ops.cumsum, np.ones(5000, "float32")),
    "cumprod": (ops.cumprod, np.array([300, 200, 1e-3, 1e-2], "float32")),
    "prod": (ops.prod, np.array([3e4, 3e4, 1e-4, 1e-3], "float32")),
    "sum_pool": (lambda x: ops.sum_pool(x, 2), IMAGE),
    "segment_sum": (lambda x: ops.segment_sum(x, np.zeros(5000, "int32"), 1), np.ones(5000, "float32")),
    "scatter_add": (
        lambda x: ops.scatter_add(ops.zeros((1,), x.dtype), np.zeros(5000, "int32"), x),
        np.ones(5000, "float32"),
    ),
    "trace": (ops.trace, np.diag(LARGE)),
    "matmul": (lambda x: ops.matmul(x, ops.ones_like(x)), LARGE),
    "einsum": (lambda x: ops.einsum("i->", x), LARGE),
    "max_pool": (lambda x: ops.max_pool(x, 2), IMAGE),
}


@pytest.mark.in_turn(8, broad=4)
@both
@pytest.mark.parametrize(("name", "dtype"), crossed([*STAYING], [*HALVES]))
def test_l8_half_precision_is_computed_in_float32_and_rounded_once(backend: str, name: str, dtype: str) -> None:
    function, values = STAYING[name]
    with use(backend):
        narrow = ops.cast(values, dtype)
        found = function(narrow)
        assert found.dtype == dtype
        expected = ops.cast(function(ops.cast(narrow, "float32")), dtype)
        found, expected = (np.asarray(ops.cast(one, "float32")) for one in (found, expected))
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found, expected, rtol=1e-3 if dtype == "float16" else 8e-3, atol=1e-6)


def test_l8_agrees_with_torch(torch: Any) -> None:
    x = LARGE.astype("float16")
    t = torch.tensor(x)
    for name, theirs in (
        ("mean", t.mean()),
        ("std", t.std(unbiased=False)),
        ("sum", t.sum()),
        ("softmax", torch.softmax(torch.zeros(70_000, dtype=torch.float16), 0)),
    ):
        function, values = STAYING[name]
        given = x if name in ("mean", "std", "sum") else values.astype("float16")
        np.testing.assert_allclose(np.asarray(function(given)), theirs.numpy(), rtol=2e-3)


@pytest.mark.broad
def test_l8_gradients_of_half_precision_are_half_and_finite() -> None:
    for name in ("std", "norm", "softmax", "logsumexp", "cumsum", "sum_pool", "standardize"):
        function, values = STAYING[name]
        x = ops.cast(values, "float16")
        gradient = jax.grad(lambda x, function=function: ops.mean(ops.cast(function(x), "float32")))(x)
        assert gradient.dtype == "float16"
        assert np.isfinite(gradient).all(), name


@pytest.mark.broad
@both
@pytest.mark.parametrize(
    ("dtype", "wide"), [("uint8", "uint32"), ("int8", "int32"), ("int16", "int32"), ("bool", "int32")]
)
def test_l8_narrow_integers_are_added_up_in_32_bits(backend: str, dtype: str, wide: str) -> None:
    with use(backend):
        x = np.full((1, 300, 1), 1 if dtype == "bool" else 100, dtype)
        expected = int(x.astype("int64").sum())
        for found in (
            ops.sum(x),
            ops.cumsum(x)[-1],
            ops.segment_sum(x[0], np.zeros(300, "int8"), 1)[0, 0],
            ops.sum_pool(x, 300)[0, 0, 0],
        ):
            assert (found.dtype, int(found)) == (wide, expected)
        assert float(ops.mean(x)) == pytest.approx(expected / 300)


@both
def test_l9_logsumexp_of_infinities(backend: str) -> None:
    cases = [
        ([np.inf, 1.0], np.inf),
        ([np.inf, np.inf], np.inf),
        ([np.inf, -np.inf], np.inf),
        ([-np.inf, -np.inf], -np.inf),
        ([np.nan, np.inf], np.nan),
        ([np.nan, -np.inf], np.nan),
        ([0.0, 0.0], np.log(2)),
    ]
    with use(backend):
        for values, expected in cases:
            np.testing.assert_allclose(ops.logsumexp(np.array(values, "float32")), expected, rtol=1e-6)
        together = np.array([values for values, _ in cases], "float32")
        np.testing.assert_allclose(ops.logsumexp(together, axis=1), [e for _, e in cases], rtol=1e-6)
        if backend == "jax":
            compiled = gx.jit(lambda x: ops.logsumexp(x, axis=1, keepdims=True))(together)
            np.testing.assert_allclose(compiled[:, 0], [e for _, e in cases], rtol=1e-6)


@both
def test_l9_logsumexp_agrees_with_torch(backend: str, torch: Any) -> None:
    x = np.array([[np.inf, 1], [np.nan, 1], [-np.inf, 3], [-np.inf, -np.inf], [1e30, 1e30]], "float32")
    with use(backend):
        np.testing.assert_allclose(ops.logsumexp(x, axis=1), torch.logsumexp(torch.tensor(x), 1).numpy(), rtol=1e-6)
        empty = ops.logsumexp(np.zeros((2, 0), "float32"), axis=1)
        np.testing.assert_array_equal(empty, torch.logsumexp(torch.zeros(2, 0), 1).numpy())


@both
def test_variance_of_too_few_values_is_nan_on_every_backend(backend: str) -> None:
    with use(backend):
        assert np.isnan(ops.var(np.ones(1, "float32"), ddof=1))
        assert np.isnan(ops.std(np.ones((3, 2), "float32"), axis=1, ddof=5)).all()
        assert np.isnan(ops.mean(np.ones(0, "float32")))


@both
def test_nan_to_num_of_half_precision_is_finite(backend: str) -> None:
    with use(backend):
        for dtype in HALVES:
            found = ops.nan_to_num(ops.cast([np.inf, -np.inf, np.nan, 1.0], dtype))
            assert found.dtype == dtype
            assert np.isfinite(np.asarray(ops.cast(found, "float32"))).all()
