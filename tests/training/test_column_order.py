"""Tables later than that of the training have their columns put into its order, by name, or are refused."""

import copy
import pickle

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.errors import ArgumentTypeError, DataError
from tests.training.tables import Table, X, Y, model, table


def trained(way="fit"):
    found = model()
    if way == "fit":
        found.fit(table(), Y, epochs=3, verbose=0)
    elif way == "column":
        found.fit(table(y=Y[:, 0]), y="y", epochs=3, verbose=0)
    else:
        found.train_on_batch(table(), Y)
    return found


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("way", ["fit", "column", "batch"])
def test_columns_in_another_order_are_put_back(way):
    """They were taken as they came, and all numbers were others."""
    found = trained(way)
    other = table("cab")
    wanted = found.predict(X, verbose=0)
    np.testing.assert_array_equal(found.predict(other, verbose=0), wanted)
    np.testing.assert_array_equal(found.predict_on_batch(other), wanted)
    assert found.evaluate(other, Y, verbose=0) == found.evaluate(X, Y, verbose=0)
    assert found.evaluate(table("bca", y=Y[:, 0]), y="y", verbose=0) == found.evaluate(X, Y, verbose=0)
    assert found.test_on_batch(other, Y) == found.test_on_batch(X, Y)


@pytest.mark.broad
def test_training_goes_on_with_the_columns_in_their_order():
    one, two = trained(), trained()
    one.fit(table(), Y, epochs=2, verbose=0, shuffle=False)
    two.fit(table("bca"), Y, epochs=2, verbose=0, shuffle=False)
    np.testing.assert_array_equal(one.predict(X, verbose=0), two.predict(X, verbose=0))


@pytest.mark.broad
def test_validation_data_are_put_into_the_order_of_the_training():
    wanted = model().fit(X, Y, validation_data=(X, Y), verbose=0, shuffle=False).history
    assert model().fit(table(), Y, validation_data=(table("cba"), Y), verbose=0, shuffle=False).history == wanted
    rows, against = table(y=Y[:, 0]), table("cab", y=Y[:, 0])
    assert model().fit(rows, y="y", validation_data=against, verbose=0, shuffle=False).history == wanted


@pytest.mark.in_turn(6)
@pytest.mark.parametrize(
    ("other", "said"),
    [
        (table("ab"), r"without 'c'"),
        (Table({"a": X[:, 0], "b": X[:, 1], "d": X[:, 2]}), r"without 'c' and with 'd'"),
        (table("abc", d=X[:, 0]), r"with 'd'(.|\n)*x\[\['a', 'b', 'c'\]\]"),
    ],
    ids=["missing", "renamed", "added"],
)
@pytest.mark.parametrize("call", ["fit", "evaluate", "predict", "train_on_batch", "predict_on_batch"])
def test_other_columns_are_refused_by_name(call, other, said):
    found = trained()
    before = [v.numpy() for v in found.variables]
    args = (other,) if call.startswith("predict") else (other, Y)
    with pytest.raises(DataError, match=said):
        getattr(found, call)(*args)
    for v, value in zip(found.variables, before, strict=True):
        np.testing.assert_array_equal(v, value)


@pytest.mark.broad
def test_arrays_and_columns_without_names_are_taken_as_they_are():
    found = trained()
    numbered = Table({i: X[:, i] for i in range(3)})
    np.testing.assert_array_equal(found.predict(numbered, verbose=0), found.predict(X, verbose=0))
    unnamed = model()
    unnamed.fit(X, Y, verbose=0)
    np.testing.assert_array_equal(
        unnamed.predict(table("cba"), verbose=0), unnamed.predict(X[:, ::-1].copy(), verbose=0)
    )


def test_a_training_that_never_began_fixes_no_columns():
    found = model()
    with pytest.raises(DataError):
        found.fit(table("ab"), Y[:3], verbose=0)
    found.fit(table(), Y, verbose=0)


@pytest.mark.broad
@pytest.mark.parametrize("several", [dict, list])
def test_several_tables(several):
    inputs = {"left": gx.Input((3,), name="left"), "right": gx.Input((3,), name="right")}
    given = inputs if several is dict else list(inputs.values())
    joined = layers.Concatenate()(list(inputs.values()))
    found = gx.Model(given, layers.Dense(1)(joined))
    found.compile("sgd", "mse")

    def rows(left, right):
        parts = {"left": table(left), "right": table(right)}
        return parts if several is dict else list(parts.values())

    found.fit(rows("abc", "cba"), Y, verbose=0)
    wanted = found.predict(rows("abc", "cba"), verbose=0)
    np.testing.assert_array_equal(found.predict(rows("bca", "abc"), verbose=0), wanted)
    with pytest.raises(DataError, match=r"without 'a'"):
        found.predict(rows("abc", "cb"), verbose=0)


@pytest.mark.broad
@pytest.mark.parametrize("way", ["copy", "pickle", "file"])
def test_copies_and_files_know_the_columns(way, tmp_path):
    found = trained()
    wanted = found.predict(X, verbose=0)
    if way == "copy":
        other = copy.deepcopy(found)
    elif way == "pickle":
        other = pickle.loads(pickle.dumps(found))
    else:
        found.save(tmp_path / "whole")
        other = gx.load_model(tmp_path / "whole")
    np.testing.assert_allclose(other.predict(table("bca"), verbose=0), wanted, rtol=1e-6)
    with pytest.raises(DataError, match="without 'c'"):
        other.predict(table("ab"), verbose=0)


def test_tables_of_pandas():
    pandas = pytest.importorskip("pandas")
    found, frame = model(), pandas.DataFrame(X, columns=list("abc"))
    found.fit(frame, Y, verbose=0)
    np.testing.assert_array_equal(found.predict(frame[list("cab")], verbose=0), found.predict(X, verbose=0))


def test_tables_of_polars():
    polars = pytest.importorskip("polars")
    found, frame = model(), polars.DataFrame(X, schema=list("abc"))
    found.fit(frame, Y, verbose=0)
    np.testing.assert_array_equal(found.predict(frame[list("cab")], verbose=0), found.predict(X, verbose=0))


@pytest.mark.broad
def test_direct_calls_take_no_tables():
    found = trained()
    for call in (found, found.layers[0], lambda x: layers.Concatenate()([x, x])):
        with pytest.raises(ArgumentTypeError, match=r"a Table with the columns 'a', 'b', 'c'\n[\s\S]*in another order"):
            call(table())
    np.testing.assert_array_equal(found(table().to_numpy()), found.predict(table("cba"), verbose=0))
