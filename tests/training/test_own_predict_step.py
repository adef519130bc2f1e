"""A `predict_step` of one's own: what it gets, what its rows are, and that it is what an export computes."""

from pathlib import Path

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core.errors import DataError, ExportError, ShapeError

X = np.random.default_rng(0).normal(size=(7, 3)).astype("float32")


class Chooses(gx.Model):
    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(4)

    def call(self, x, y=None):
        return self.dense(x)

    def predict_step(self, x):
        return {"chosen": ops.argmax(self(x), axis=-1)}


class TakesTheFirstRow(Chooses):
    def predict_step(self, batch):
        x = batch[0]
        return ops.sum(x)


class OneRow(Chooses):
    def predict_step(self, batch):
        return self(batch[0][None])


class Fails(Chooses):
    def predict_step(self, batch):
        return ops.matmul(batch[0], ops.ones((2, 2)))


@pytest.mark.broad
def test_an_artefact_computes_it(tmp_path: Path) -> None:
    model = Chooses()
    model(X)
    model.export(tmp_path / "net")
    there = gx.export.load(tmp_path / "net").predict(X)
    np.testing.assert_array_equal(there["chosen"], model.predict(X, verbose=0)["chosen"])
    gx.export.save(tmp_path / "call", lambda x: model(x, training=False), gx.export.Spec("batch 3"), roots=model)
    np.testing.assert_allclose(gx.export.load(tmp_path / "call").predict(X), model(X), rtol=1e-5)


def test_an_export_of_several_inputs_says_that_it_takes_one(tmp_path: Path) -> None:
    model = Chooses()
    model(X, X)
    with pytest.raises(ExportError, match="whose predict_step takes one"):
        model.export(tmp_path / "net")


def test_one_number_for_a_batch_says_what_x_is() -> None:
    with pytest.raises(DataError, match="x is the input itself") as caught:
        TakesTheFirstRow().predict(X, verbose=0)
    assert "pad" not in str(caught.value)


@pytest.mark.broad
def test_other_rows_than_those_of_the_batch_are_told_once() -> None:
    with pytest.warns(UserWarning, match="made 1 rows of the 4 of a batch.*x is the input itself") as told:
        assert OneRow().predict(X, batch_size=4, verbose=0).shape == (2, 4)
    assert len(told) == 1


def test_what_fails_inside_says_what_x_is() -> None:
    with pytest.raises(ShapeError) as caught:
        Fails().predict(X, verbose=0)
    assert "Fails.predict_step" in str(caught.value)


@pytest.mark.broad
def test_outputs_of_several_lengths_have_advice_that_keeps_the_order() -> None:
    rows = [np.ones((n, 2), "float32") * n for n in (2, 7, 3)]
    model = gx.Sequential([layers.Dense(1)])
    batches = gx.data.bucket(rows, sizes=[4, 8], batch_size=1)
    with pytest.raises(DataError, match="all sizes but the first must agree") as caught:
        model.predict(batches, verbose=0)
    assert "[model.predict(one[None], verbose=0)[0] for one in x]" in caught.value.instead
    found = [model.predict(one[None], verbose=0)[0] for one in rows]
    assert [one.shape for one in found] == [(2, 1), (7, 1), (3, 1)]
    assert model.predict(gx.data.bucket(rows, sizes=[7], batch_size=1), verbose=0).shape == (3, 7, 1)


def test_an_artefact_that_is_called_says_which_programs_it_has(tmp_path: Path) -> None:
    model = gx.Sequential([layers.Dense(2)])
    model(X)
    model.export(tmp_path / "net", check=False)
    with pytest.raises(TypeError, match=r"it holds programs: predict(.|\n)*load\('.*net'\)\.predict\(x\)"):
        gx.export.load(tmp_path / "net")(X)
