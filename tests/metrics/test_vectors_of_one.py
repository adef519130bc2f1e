"""Metrics and losses that compare vectors along an axis refuse vectors of one element, which say nothing."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.core.errors import ShapeError

RNG = np.random.default_rng(0)
COLUMNS = RNG.random((16, 1)).astype("float32"), RNG.random((16, 1)).astype("float32")
KINDS = [
    gx.metrics.PearsonCorrelation,
    gx.metrics.ConcordanceCorrelation,
    gx.metrics.CosineSimilarity,
    gx.losses.CosineSimilarity,
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__module__.split(".")[1] + kind.__name__)
def test_a_vector_has_several_elements(kind):
    with pytest.raises(
        ShapeError, match=r"(?s)\[16, 1\], with vectors along axis -1.*one element.*axis=0, over the rows"
    ):
        kind()(*COLUMNS)
    with pytest.raises(ShapeError, match=r"axis=1, the one before"):
        kind()(*(one.reshape(4, 4, 1) for one in COLUMNS))


@pytest.mark.broad
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__module__.split(".")[1] + kind.__name__)
def test_along_the_samples_any_number_will_do(kind):
    rows = np.ravel(kind(axis=0)(*COLUMNS))
    np.testing.assert_allclose(rows, np.ravel(kind()(*(one[:, 0] for one in COLUMNS))), rtol=1e-5)
    assert np.isfinite(np.ravel(kind(axis=0)(*(one[:1] for one in COLUMNS)))).all()  # a last batch of one


@pytest.mark.broad
def test_the_line_of_the_message_works_in_evaluate():
    model = gx.Sequential([layers.Dense(1)])
    model.compile("sgd", "mse", metrics=["pearson_correlation"])
    with pytest.raises(ShapeError, match="axis=0"):
        model.evaluate(*COLUMNS, verbose=0)
    model.compile("sgd", "mse", metrics=[gx.metrics.PearsonCorrelation(axis=0)])
    found = model.evaluate(*COLUMNS, batch_size=16, verbose=0)["pearson_correlation"]
    y = np.asarray(model(COLUMNS[0]))[:, 0]
    np.testing.assert_allclose(found, np.corrcoef(y, COLUMNS[1][:, 0])[0, 1], rtol=1e-4)
