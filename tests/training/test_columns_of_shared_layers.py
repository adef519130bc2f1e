"""A single layer that takes the columns of a table keeps their order in the next model that begins with it."""

import copy

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.errors import DataError
from tests.training.tables import Table, X, Y, model, table


def _in_a_row(first):
    return gx.Sequential([first, layers.Dense(2)])


def _graph(first):
    inputs = gx.Input((3,))
    return gx.Model(inputs, layers.Dense(2)(first(inputs)))


def trained(first, names="abc", around=_in_a_row):
    found = around(first)
    found.compile("sgd", "mse")
    found.fit(table(names), np.ones((12, 2), "float32"), verbose=0)
    return found


AROUND = pytest.mark.parametrize("around", [_in_a_row, _graph])


@AROUND
@pytest.mark.broad
def test_the_next_model_pairs_weights_and_columns_by_name(around):
    first = layers.Dense(4)
    trained(first, around=around)
    outer = around(first)
    wanted = outer.predict(X, verbose=0)
    np.testing.assert_array_equal(outer.predict(table("cab"), verbose=0), wanted)
    outer.compile(gx.optimizers.SGD(0.0), "mse")
    targets = np.ones((12, 2), "float32")
    loss = outer.evaluate(X, targets, verbose=0)["loss"]
    history = outer.fit(
        table("bca"), targets, validation_data=(table("cba"), targets), shuffle=False, verbose=0
    ).history
    assert history["loss"] == pytest.approx([loss])
    assert history["val_loss"] == pytest.approx([loss])
    assert outer._gx_columns.x == ("a", "b", "c")


def test_a_model_made_of_the_outputs_of_a_layer():
    source = trained(layers.Dense(4), around=_graph)
    head = gx.Model(source.input, source.layers[1].output)
    np.testing.assert_array_equal(head.predict(table("bac"), verbose=0), head.predict(X, verbose=0))


@pytest.mark.broad
def test_other_columns_are_new():
    first = layers.Dense(4)
    trained(first)
    other = Table({"d": X[:, 2], "e": X[:, 1], "f": X[:, 0]})
    outer = _in_a_row(first)
    outer.compile("sgd", "mse")
    outer.fit(other, np.ones((12, 2), "float32"), verbose=0)
    assert outer._gx_columns.x == ("d", "e", "f")
    with pytest.raises(DataError, match="x is a Table without 'd'"):
        outer.predict(table(), verbose=0)
    third = _in_a_row(first)  # the layer was trained on these last
    np.testing.assert_array_equal(
        third.predict(other[["f", "d", "e"]], verbose=0), third.predict(X[:, ::-1], verbose=0)
    )
    np.testing.assert_array_equal(third.predict(table("cab"), verbose=0), third.predict(X[:, [2, 0, 1]], verbose=0))


def test_a_layer_that_gets_other_inputs_says_nothing():
    first = layers.Dense(3)
    trained(first)
    outer = gx.Sequential([layers.Dense(3), first])
    np.testing.assert_array_equal(outer.predict(table("cab"), verbose=0), outer.predict(X[:, [2, 0, 1]], verbose=0))


@pytest.mark.broad
def test_a_layer_without_weights_says_nothing():
    first = layers.Dropout(0.5)
    trained(first)
    outer = model(1, first)
    outer.fit(table("cab"), Y, verbose=0)
    assert outer._gx_columns.x == ("c", "a", "b")


@pytest.mark.broad
def test_arrays_change_nothing():
    first = layers.Dense(4)
    trained(first)
    outer = _in_a_row(first)
    outer.compile("sgd", "mse")
    outer.fit(X, np.ones((12, 2), "float32"), verbose=0)
    assert first._gx_columns.x == ("a", "b", "c")


@pytest.mark.broad
@pytest.mark.parametrize("way", ["copy", "checkpoint", "whole"])
def test_copies_and_files_know_it(way, tmp_path):
    source = trained(layers.Dense(4))
    if way == "copy":
        again = copy.deepcopy(source)
    elif way == "checkpoint":
        gx.Checkpoint(model=source).save(tmp_path / "saved")
        again = _in_a_row(layers.Dense(4))
        again.build((None, 3))
        gx.Checkpoint(model=again).restore(tmp_path / "saved")
    else:
        source.save(tmp_path / "whole")
        again = gx.load_model(tmp_path / "whole")
    outer = _in_a_row(again.layers[0])
    np.testing.assert_array_equal(outer.predict(table("cab"), verbose=0), outer.predict(X, verbose=0))
