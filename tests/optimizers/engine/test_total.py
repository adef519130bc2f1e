from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax.optimizers.engine.total import total


@pytest.mark.parametrize("count", [1, 16, 17, 300])
@pytest.mark.parametrize("backend", ["jax", "numpy"])
def test_it_is_the_sum(count: int, backend: str) -> None:
    numbers = np.random.default_rng(0).normal(size=count).astype("float32")
    with gx.backend.use(backend):
        found = total(list(numbers))
    assert (found.shape, found.dtype) == ((), "float32")
    np.testing.assert_allclose(found, numbers.sum(dtype="float64"), rtol=1e-5, atol=1e-6)


@pytest.mark.broad
def test_nan_is_not_lost_and_the_slope_is_one() -> None:
    assert np.isnan(total([np.float32(x) for x in (1.0, np.nan, *range(30))]))
    slopes = gx.grad(lambda x: total(gx.ops.unstack(x)))(np.arange(20, dtype="float32"))
    np.testing.assert_array_equal(slopes, np.ones(20))


@pytest.mark.slow
@pytest.mark.optimized
def test_a_step_that_clips_by_the_global_norm_grows_with_its_variables_not_with_their_square() -> None:
    def size(count: int) -> int:
        weights = [gx.Variable(np.ones((130, 130 + i % 7), "float32")) for i in range(count)]  # too large for packs
        optimizer = gx.optimizers.AdamW(1e-3, global_clipnorm=1.0)
        x = np.ones((4, 130), "float32")
        step = gx.jit(lambda: optimizer.minimize(lambda: sum(gx.ops.mean((x @ w) ** 2) for w in weights), weights))
        compiled: Any = step.lower()._lowering
        return len(compiled._compiled.as_text())

    assert size(80) < 5 * size(20)
