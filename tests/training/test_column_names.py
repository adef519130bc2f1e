"""Columns count by name whatever the names are: texts, numbers, dates, tuples; only 0, 1, 2, … in order are none."""

import datetime as dt
import pickle

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.errors import DataError
from graftax.layers.column_names import go_by_place, names_of
from tests.training.tables import Table, X, Y, model

NAMES = {
    "texts": ("a", "b", "c"),
    "digits": ("0", "1", "2"),
    "years": (2019, 2020, 2021),
    "integers of NumPy": tuple(np.int64([5, 7, 9])),
    "from one on": (1, 2, 3),
    "numbers in another order": (1, 0, 2),
    "fractions": (0.1, 0.5, 0.9),
    "truth values": (True, False, "other"),
    "mixed": ("a", 1, 2.5),
    "tuples": (("g", "a"), ("g", 1), ("h", "a")),
    "dates": tuple(dt.date(year, 1, 1) for year in (2019, 2020, 2021)),
    "nothing": (None, "a", float("nan")),
}


def rows(names, order=(0, 1, 2), **more):
    return Table({names[i]: X[:, i] for i in order} | more)


class PyDataset:
    """Batches by index: tables."""

    num_batches = 1

    def __init__(self, data, y):
        self.data, self.y = data, y

    def __len__(self):
        return 1

    def __getitem__(self, i):
        return self.data, self.y


WAYS = {
    "fit": lambda found, data: found.fit(data, Y, verbose=0, shuffle=False).history["loss"][0],
    "evaluate": lambda found, data: found.evaluate(data, Y, verbose=0)["loss"],
    "predict": lambda found, data: found.predict(data, verbose=0),
    "train_on_batch": lambda found, data: found.train_on_batch(data, Y)["loss"],
    "generator": lambda found, data: found.fit(iter([(data, Y)]), verbose=0).history["loss"][0],
    "dataset": lambda found, data: found.evaluate(PyDataset(data, Y), verbose=0)["loss"],
}
EACH = pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
WAY = pytest.mark.parametrize("way", WAYS)


def fitted(data):
    found = model()
    found.fit(data, Y, epochs=2, shuffle=False, verbose=0)
    return found


def trained(names):
    return fitted(rows(names))


@EACH
@WAY
@pytest.mark.in_turn(36, broad=13)
def test_another_order_is_put_back(names, way):
    """Other names than texts were ignored: columns counted by place, and all numbers were others."""
    one, two = trained(names), trained(names)
    np.testing.assert_array_equal(WAYS[way](one, rows(names, (2, 0, 1))), WAYS[way](two, X))


@EACH
@WAY
@pytest.mark.in_turn(108, 3, broad=31)
@pytest.mark.parametrize("change", ["other", "missing", "more"])
def test_other_columns_are_refused(names, way, change):
    found = trained(names)
    before = found.get_weights()
    other = {
        "other": lambda: rows((*names[:2], "elsewhere")),
        "missing": lambda: rows(names, (0, 1)),
        "more": lambda: rows((*names, "elsewhere"), elsewhere=X[:, 0]),
    }[change]()
    with pytest.raises(DataError, match=r"x is a Table with"):
        WAYS[way](found, other)
    for value, now in zip(before, found.get_weights(), strict=True):
        np.testing.assert_array_equal(value, now)


@pytest.mark.broad
@pytest.mark.parametrize("known", [("a", "b", "c"), (0.1, 0.5, 0.9)])
def test_a_table_without_names_goes_by_place(known):
    numbered = rows((0, 1, 2))
    found = trained(known)
    np.testing.assert_array_equal(found.predict(numbered, verbose=0), found.predict(X, verbose=0))
    unnamed = model()
    unnamed.fit(numbered, Y, verbose=0)
    turned = X[:, ::-1].copy()
    np.testing.assert_array_equal(
        unnamed.predict(rows(known, (2, 1, 0)), verbose=0), unnamed.predict(turned, verbose=0)
    )
    unnamed.fit(rows(known), Y, verbose=0)
    np.testing.assert_array_equal(unnamed.predict(rows(known, (2, 1, 0)), verbose=0), unnamed.predict(X, verbose=0))


@pytest.mark.broad
def test_some_columns_of_a_table_without_names_have_names():
    """``x[[1, 0]]`` of a table whose columns are 0 and 1."""
    found = trained((0, 1, 2))
    wanted = found.predict(X, verbose=0)
    np.testing.assert_array_equal(found.predict(rows((0, 1, 2), (2, 0, 1)), verbose=0), wanted)
    with pytest.raises(DataError, match="without 0 and with 3"):
        found.predict(rows((1, 2, 3)), verbose=0)
    with pytest.raises(DataError, match="without 2019, 2020, 2021 and with 0, 1, 2"):
        trained((2019, 2020, 2021)).predict(rows((0, 1, 2)), verbose=0)


@pytest.mark.broad
def test_tables_without_names_may_have_several_widths():
    found = gx.Sequential([layers.Reshape((-1, 1)), layers.GlobalAveragePooling1D()])
    found.compile("sgd", "mse")
    assert found.predict(rows((0, 1, 2)), verbose=0).shape == (12, 1)
    found.fit(rows((0, 1, 2)), Y, verbose=0)
    assert found.predict(Table({0: X[:, 0], 1: X[:, 1]}), verbose=0).shape == (12, 1)


@EACH
@pytest.mark.parametrize("way", ["pickle", "checkpoint", "whole"])
@pytest.mark.broad
@pytest.mark.in_turn(2)
def test_files_know_names_of_each_kind(names, way, tmp_path):
    found = trained(names)
    wanted = found.predict(X, verbose=0)
    if way == "pickle":
        other = pickle.loads(pickle.dumps(found))
    elif way == "checkpoint":
        gx.Checkpoint(model=found).save(tmp_path / "saved")
        other = model()
        other.build((None, 3))
        gx.Checkpoint(model=other).restore(tmp_path / "saved")
    else:
        found.save(tmp_path / "whole")
        other = gx.load_model(tmp_path / "whole")
    assert other._gx_columns.x == found._gx_columns.x
    np.testing.assert_allclose(other.predict(rows(names, (2, 0, 1)), verbose=0), wanted, rtol=1e-6)
    with pytest.raises(DataError, match="without"):
        other.predict(rows(names, (0, 1)), verbose=0)


def test_what_has_no_names_is_said():
    assert [go_by_place((0, 1), names) for names in [("a", "b"), (1, 0), (0, 1, 2), (0.5, 1.5), (2019, 2020)]] == [
        True,
        False,
        True,
        True,
        False,
    ]
    assert not go_by_place(("a",), ("b",))
    assert names_of(rows(NAMES["dates"])) == tuple(f"datetime.date({year}, 1, 1)" for year in (2019, 2020, 2021))
    assert names_of(X) is None


# --- of pandas and polars ---------------------------------------------------------------------------------------------

OF_PANDAS = {
    "texts": lambda pandas: list("abc"),
    "years": lambda pandas: [2019, 2020, 2021],
    "a range": lambda pandas: pandas.RangeIndex(5, 8),
    "none": lambda pandas: None,
    "fractions": lambda pandas: [0.1, 0.5, 0.9],
    "tuples": lambda pandas: pandas.MultiIndex.from_tuples([("g", "a"), ("g", "b"), ("h", 1)]),
    "times": lambda pandas: pandas.to_datetime(["2020-01-01", "2021-01-01", "2022-01-01"]),
    "periods": lambda pandas: pandas.period_range("2020", periods=3, freq="Y"),
    "intervals": lambda pandas: pandas.interval_range(0, 3),
    "categories": lambda pandas: pandas.CategoricalIndex(["p", "q", "r"]),
    "numbers as categories": lambda pandas: pandas.CategoricalIndex([2019, 2020, 2021]),
    "strings": lambda pandas: pandas.Index(list("pqr"), dtype="string"),
    "mixed": lambda pandas: ["a", 1, None],
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", OF_PANDAS)
def test_columns_of_pandas(kind, way):
    pandas = pytest.importorskip("pandas")
    data = pandas.DataFrame(X, columns=OF_PANDAS[kind](pandas))
    one, two = fitted(data), fitted(data)
    np.testing.assert_array_equal(WAYS[way](one, data.iloc[:, [2, 0, 1]]), WAYS[way](two, X))
    if kind == "none":
        return
    others = data.iloc[:, :2], data.set_axis([*data.columns[:2], "elsewhere"], axis=1)
    for other in (*others, pandas.concat([data.set_axis(list(data.columns), axis=1), data.iloc[:, 0]], axis=1)):
        with pytest.raises(DataError, match="x is a DataFrame with"):
            WAYS[way](one, other)


@pytest.mark.parametrize("kind", [kind for kind in OF_PANDAS if kind != "none"])
def test_the_line_for_too_many_columns_works(kind):
    pandas = pytest.importorskip("pandas")
    data = pandas.DataFrame(X, columns=OF_PANDAS[kind](pandas))
    found = model()
    found.fit(data, Y, verbose=0)
    x = data.set_axis(list(data.columns), axis=1)
    x.insert(1, "elsewhere", 0.0)
    with pytest.raises(DataError, match="with 'elsewhere'") as caught:
        found.predict(x, verbose=0)
    again = found.predict(eval(caught.value.instead, {"x": x}), verbose=0)
    np.testing.assert_array_equal(again, found.predict(X, verbose=0))


@pytest.mark.parametrize("way", WAYS)
def test_columns_of_polars(way):
    polars = pytest.importorskip("polars")
    data = polars.DataFrame(X, schema=["2019", "b", "c"])
    one, two = fitted(data), fitted(data)
    np.testing.assert_array_equal(WAYS[way](one, data[["c", "2019", "b"]]), WAYS[way](two, X))
    for other in (data[["b", "c"]], data.rename({"b": "d"}), data.with_columns(polars.lit(0.0).alias("d"))):
        with pytest.raises(DataError, match="x is a DataFrame with"):
            WAYS[way](one, other)


def test_two_columns_of_one_name():
    """The line in the message took each of them twice, and a target of that name was two."""
    pandas = pytest.importorskip("pandas")
    data = pandas.DataFrame(X, columns=["a", "a", "b"])
    found = model()
    found.fit(data, Y, verbose=0)
    wanted = found.predict(X, verbose=0)
    np.testing.assert_array_equal(found.predict(data, verbose=0), wanted)
    for other in (data.iloc[:, [0, 2, 1]], data.iloc[:, 1:]):
        with pytest.raises(DataError, match=r"the name 'a' does not say which(.|\n)*x\.to_numpy\(\)"):
            found.predict(other, verbose=0)
    with pytest.raises(DataError, match="the column 'a' is there twice"):
        model().fit(data, y="a", verbose=0)
    other = model()
    other.fit(data, y="b", verbose=0)
    assert other._gx_columns.x == ("a", "a")
    assert other.layers[0].kernel.shape == (2, 1)
