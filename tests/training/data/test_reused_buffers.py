"""Loaders that write each batch into the same arrays: what is trained on is what they gave, however it is run."""

import numpy as np
import pytest

import graftax as gx
from graftax import data, layers
from graftax.core.errors import IndexRangeError
from graftax.training.sources.on_device import OnDevice

ROWS = np.random.default_rng(0).integers(0, 9, (7, 4, 3)).astype("int32")
TARGETS = np.random.default_rng(1).normal(size=(7, 4, 1)).astype("float32")


def fresh():
    for x, y in zip(ROWS, TARGETS, strict=True):
        yield x.copy(), y.copy()


def reusing():
    x, y = np.empty_like(ROWS[0]), np.empty_like(TARGETS[0])
    for one, other in zip(ROWS, TARGETS, strict=True):
        x[...], y[...] = one, other
        yield x, y
    x[...], y[...] = 0, np.nan


def model(**options):
    gx.set_random_seed(0)
    made = gx.Sequential([layers.Embedding(9, 4), layers.Flatten(), layers.Dense(1)])
    made(ROWS[0])
    made.compile(gx.optimizers.SGD(0.1), "mse", **options)
    return made


@pytest.mark.in_turn(3, broad=2)
@pytest.mark.parametrize("ahead", [None, 4], ids=["as they come", "prefetched"])
@pytest.mark.parametrize("together", [1, 3, 8])
def test_a_loader_may_reuse_its_arrays(together, ahead):
    expected, found = model(), model(steps_per_execution=together)
    batches = reusing() if ahead is None else data.prefetch(reusing(), size=ahead)
    one, other = (m.fit(b, verbose=0).history["loss"] for m, b in ((expected, fresh()), (found, batches)))
    assert one == pytest.approx(other, rel=1e-5)
    np.testing.assert_allclose(found.layers[0].variables[0], expected.layers[0].variables[0], rtol=1e-4, atol=1e-6)
    batches = reusing() if ahead is None else data.prefetch(reusing(), size=ahead)
    assert found.evaluate(batches, verbose=0)["loss"] == pytest.approx(
        expected.evaluate(fresh(), verbose=0)["loss"], rel=1e-5
    )


@pytest.mark.parametrize("dtype", ["int32", "float32", "bool"])
def test_a_batch_on_the_device_and_its_like_on_the_host_stay(dtype):
    x = np.ones((2, 64), dtype)
    batch = OnDevice.of((x, {"a": x[:, :1]}, None))
    x[...] = 0
    for one in (batch[0], batch[1]["a"], batch.host[0], batch.host[1]["a"]):
        assert np.asarray(one).all()
    assert batch.host[2] is None


@pytest.mark.broad
def test_an_index_out_of_range_is_found_in_arrays_that_are_reused():
    made = model()

    def batches():
        x, y = np.zeros((4, 3), "int32"), np.zeros((4, 1), "float32")
        for number in (0, 0, 99, 0, 0, 0):
            x[...] = number
            yield x, y

    with pytest.raises(IndexRangeError, match="99"):
        made.fit(data.prefetch(batches(), size=3), verbose=0)
