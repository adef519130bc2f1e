"""The columns that a model was trained on are part of its checkpoints, and of the runs that `fit` resumes."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.checkpoint.reader import Reader
from graftax.errors import DataError
from graftax.layers.table_columns import Columns, columns_in
from tests.training.tables import BOTH, Table, X, Y, model, table, targets


def trained():
    found = model(2)
    found.fit(table(), targets(), epochs=2, verbose=0)
    return found


def _checkpoint(found, path):
    gx.Checkpoint(model=found).save(path)
    return lambda other: gx.Checkpoint(model=other).restore(path)


def _cover(found, path):
    gx.Checkpoint(model=found, optimizer=found.optimizer).save(path)
    return lambda other: gx.Checkpoint(model=other).restore(path, mode="cover")


def _overlap(found, path):
    gx.Checkpoint(model=found).save(path)
    return lambda other: gx.Checkpoint(model=other).restore(path, mode="overlap")


def _weights(found, path):
    found.save_weights(path)
    return lambda other: other.load_weights(path)


def _whole(found, path):
    found.save(path)
    return lambda other: other.load_weights(path)


@pytest.mark.parametrize("is_built", [True, False], ids=["built", "unbuilt"])
@pytest.mark.parametrize("way", [_checkpoint, _cover, _overlap, _weights, _whole])
@pytest.mark.in_turn(5, broad=2)
def test_a_restored_model_knows_its_columns(way, is_built, tmp_path):
    found, other = trained(), model(2)
    if is_built:
        other(X)
    way(found, tmp_path / "saved")(other)
    wanted = found.predict(X, verbose=0)
    np.testing.assert_allclose(other.predict(table("cab"), verbose=0), wanted, rtol=1e-6)
    assert other.evaluate(table("bca"), targets("vu"), verbose=0) == other.evaluate(X, BOTH, verbose=0)
    with pytest.raises(DataError, match=r"x is a Table without 'c'(.|\n)*trained on the columns 'a', 'b', 'c'"):
        other.predict(table("ab"), verbose=0)


@pytest.mark.broad
def test_columns_saved_again_after_a_training_are_those_of_then(tmp_path):
    found = model(2)
    found.fit(X, BOTH, verbose=0)
    checkpoint = gx.Checkpoint(model=found)
    checkpoint.save(tmp_path / "before")
    found.fit(table("bca"), targets(), verbose=0)
    checkpoint.save(tmp_path / "after")
    for name, known in (("before", Columns()), ("after", Columns(("b", "c", "a"), ("u", "v")))):
        other = model(2)
        gx.Checkpoint(model=other).restore(tmp_path / name)
        assert other._gx_columns == known


@pytest.mark.broad
def test_a_checkpoint_without_columns_changes_none(tmp_path):
    found = model(2)
    found.fit(X, BOTH, verbose=0)
    gx.Checkpoint(model=found).save(tmp_path / "arrays")
    other = trained()
    gx.Checkpoint(model=other).restore(tmp_path / "arrays")
    assert other._gx_columns == Columns(("a", "b", "c"), ("u", "v"))


@pytest.mark.broad
def test_columns_come_with_the_first_weights(tmp_path):
    found = model(2, layers.Dense(4))
    found.fit(table("cab"), BOTH, verbose=0)
    gx.Checkpoint(model=found).save(tmp_path / "saved")
    for only, known in (("model/layers/0/**", ("c", "a", "b")), ("model/layers/1/**", None)):
        other = model(2, layers.Dense(4))
        other(X)
        gx.Checkpoint(model=other).restore(tmp_path / "saved", only=only)
        assert other._gx_columns.x == known


@pytest.mark.broad
def test_a_restore_that_fails_leaves_the_columns(tmp_path):
    found = trained()
    gx.Checkpoint(model=found).save(tmp_path / "saved")
    other = model(3)
    other.fit(table("bca"), np.ones((12, 3), "float32"), verbose=0)
    with pytest.raises(gx.errors.CheckpointError):
        gx.Checkpoint(model=other).restore(tmp_path / "saved")
    assert other._gx_columns == Columns(("b", "c", "a"))


@pytest.mark.parametrize(
    "told",
    [5, {"x": 5}, {"x": ["table", [{}]]}, {"x": ["dict", [["a"]]]}, {"x": ["tree", []]}, {"x": ["table"]}],
    ids=str,
)
def test_what_files_say_is_read_with_care(told):
    assert columns_in({"columns": told}) is None


@pytest.mark.broad
def test_dicts_and_lists_of_tables(tmp_path):
    for several in (dict, list):
        inputs = {"left": gx.Input((3,), name="left"), "right": gx.Input((3,), name="right")}
        given = inputs if several is dict else list(inputs.values())
        found = gx.Model(given, layers.Dense(1)(layers.Concatenate()(list(inputs.values()))))
        found.compile("sgd", "mse")
        parts = {"left": table("abc"), "right": table("cba")}
        found.fit(parts if several is dict else list(parts.values()), Y, verbose=0)
        gx.Checkpoint(model=found).save(tmp_path / several.__name__)
        known, found._gx_columns = found._gx_columns, Columns()
        gx.Checkpoint(model=found).restore(tmp_path / several.__name__)
        assert found._gx_columns == known


def resumed(data, epochs, where):
    found = model()
    found.fit(
        data,
        y="y",
        epochs=epochs,
        shuffle=False,
        verbose=0,
        resume=where,
        callbacks=[gx.callbacks.ModelCheckpoint(where)],
    )
    return found


@pytest.mark.parametrize("kind", ["path", "manager"])
@pytest.mark.broad
def test_a_resumed_run_puts_columns_into_the_order_of_the_first(kind, tmp_path):
    y = {"y": Y[:, 0]}
    whole = resumed(table("abc", **y), 3, tmp_path / "whole")
    resumed(table("abc", **y), 1, tmp_path / "run")
    where = tmp_path / "run" if kind == "path" else gx.CheckpointManager(tmp_path / "run")
    found = resumed(Table({**y, **table("cab")._columns}), 3, where)
    np.testing.assert_array_equal(found.predict(X, verbose=0), whole.predict(X, verbose=0))
    np.testing.assert_array_equal(found.predict(table("bca"), verbose=0), whole.predict(X, verbose=0))


def test_a_resumed_run_refuses_other_columns(tmp_path):
    resumed(table("abc", y=Y[:, 0]), 1, tmp_path)
    with pytest.raises(DataError, match=r"x is a Table without 'c' and with 'd'"):
        resumed(table("ab", d=X[:, 2], y=Y[:, 0]), 3, tmp_path)


@pytest.mark.broad
def test_models_without_tables_save_no_facts(tmp_path):
    found = model()
    found.fit(X, Y, verbose=0)
    gx.Checkpoint(model=found).save(tmp_path / "saved")
    with Reader(tmp_path / "saved") as reader:
        assert reader.index.nodes[reader.index.roots["model"]].payload is None
