"""Targets that are tables: paired with outputs by name, as inputs are; several columns of one table as targets."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.errors import DataError
from graftax.layers.table_columns import Columns
from tests.training.tables import BOTH, Table, X, model, table, targets


def trained():
    found = model(2)
    found.fit(table(), targets(), epochs=2, verbose=0)
    return found


def test_targets_in_another_order_are_put_back():
    found = trained()
    wanted = found.evaluate(X, BOTH, verbose=0)
    assert found.evaluate(X, targets("vu"), verbose=0) == wanted
    assert found.test_on_batch(X, targets("vu")) == found.test_on_batch(X, BOTH)
    assert found.evaluate(X, BOTH[:, ::-1], verbose=0) != wanted


@pytest.mark.broad
def test_later_trainings_and_validations():
    one, two = trained(), trained()
    for found, names in ((one, "uv"), (two, "vu")):
        data = (table(), targets(names))
        found.fit(*data, epochs=2, validation_data=data, shuffle=False, verbose=0)
        found.train_on_batch(X, targets(names))
    np.testing.assert_array_equal(one.predict(X, verbose=0), two.predict(X, verbose=0))
    first = model(2).fit(table(), targets(), validation_data=(X, targets("vu")), shuffle=False, verbose=0).history
    assert first == model(2).fit(X, BOTH, validation_data=(X, BOTH), shuffle=False, verbose=0).history


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("call", ["fit", "evaluate", "train_on_batch", "test_on_batch"])
def test_other_targets_are_refused_by_name(call):
    found = trained()
    other = Table({"u": BOTH[:, 0], "w": BOTH[:, 1]})
    before = [v.numpy() for v in found.variables]
    with pytest.raises(DataError, match=r"y is a Table without 'v' and with 'w'(.|\n)*trained on the columns 'u', 'v'"):
        getattr(found, call)(X, other)
    for v, value in zip(found.variables, before, strict=True):
        np.testing.assert_array_equal(v, value)
    with pytest.raises(DataError, match=r"validation_data\[1\] is a Table without 'v'"):
        found.fit(X, BOTH, validation_data=(X, other), verbose=0)


@pytest.mark.broad
def test_weights_with_the_names_of_the_targets():
    inputs = gx.Input((3,))
    found = gx.Model(inputs, layers.Reshape((2, 1))(layers.Dense(2)(inputs)))
    found.compile("sgd", "mse")
    ones, zeros = np.ones(12, "float32"), np.zeros(12, "float32")
    found._gx_columns = Columns(y=("u", "v"))
    wanted = found.evaluate(X, BOTH[..., None], sample_weight=np.stack([ones, zeros], 1), verbose=0)
    weights = Table({"v": zeros, "u": ones})
    assert found.evaluate(X, BOTH[..., None], sample_weight=weights, verbose=0) == wanted
    assert found.test_on_batch(X, BOTH[..., None], sample_weight=weights) == wanted


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_a_column_alone_may_have_any_name(kind):
    library = pytest.importorskip(kind)
    found, x = model(), library.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    found.fit(x, library.Series(BOTH[:, 0]), verbose=0)
    one, other = (found.evaluate(x, library.DataFrame({name: BOTH[:, 0]})[name], verbose=0) for name in ("y", "y_test"))
    assert one == other


@pytest.mark.parametrize("names", [["u", "v"], ("v", "u")], ids=["list", "tuple"])
@pytest.mark.broad
def test_several_columns_as_targets(names):
    data = table("ab", u=BOTH[:, 0], c=X[:, 2], v=BOTH[:, 1])
    found = model(2)
    history = found.fit(data, y=names, validation_data=data, shuffle=False, verbose=0).history
    y = targets("".join(names)).to_numpy()
    assert history == model(2).fit(X, y, validation_data=(X, y), shuffle=False, verbose=0).history
    assert found.evaluate(data, y=names[::-1], verbose=0) == found.evaluate(X, y, verbose=0)


@pytest.mark.broad
def test_several_columns_of_dicts_and_batches():
    inputs = gx.Input((3,), name="x")
    outputs = {"u": layers.Dense(1, name="u")(inputs), "v": layers.Dense(1, name="v")(inputs)}
    found = gx.Model({"x": inputs}, outputs)
    found.compile(gx.optimizers.SGD(0.0), "mse")
    y = {"u": BOTH[:, :1], "v": BOTH[:, 1:]}
    wanted = found.evaluate({"x": X}, y, batch_size=12, verbose=0)
    rows = [{"x": X, **y}]
    alone = gx.Model(inputs, outputs)
    alone.compile(gx.optimizers.SGD(0.0), "mse")
    assert alone.evaluate(rows[0], y=["u", "v"], batch_size=12, verbose=0) == wanted
    assert alone.evaluate(rows, y=["u", "v"], verbose=0) == wanted


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["u", "w"], r"the column 'w'(.|\n)*the Table has 'a', 'b', 'c', 'u', 'v'"),
        (["u", "u"], r"a target comes twice"),
        (["a", "b", "c", "u", "v"], r"no column is left for the inputs"),
    ],
    ids=["missing", "twice", "all"],
)
def test_columns_that_cannot_be_targets(names, said):
    with pytest.raises(DataError, match=said):
        model(2).fit(table("abc", u=BOTH[:, 0], v=BOTH[:, 1]), y=names, verbose=0)


def test_text_in_place_of_targets_is_still_called_text():
    with pytest.raises(DataError, match="holds str"):
        model().fit(X, ["cat", "dog"] * 6, verbose=0)
    with pytest.raises(DataError, match="holds str"):
        model().fit(table(), ["cat", "dog"] * 6, verbose=0)
