"""Values that are missing in columns of pandas and polars are refused by column and row, and the remedy works."""

import numpy as np
import pytest

import graftax as gx
from graftax.core.errors import DataError

Y = np.ones((4, 1), "float32")
LAST = [1, 0, None, 1]


def model():
    found = gx.Sequential([gx.layers.Dense(1)])
    found.compile("sgd", "mse")
    return found


@pytest.mark.parametrize(
    ("dtype", "nothing"), [("Float64", "0.0"), ("Int64", "0"), ("boolean", "False")], ids=["float", "int", "bool"]
)
@pytest.mark.parametrize("beside", [True, False], ids=["two", "one"])  # one alone is floats and nan in pandas 3
def test_pandas(dtype, nothing, beside):
    pandas = pytest.importorskip("pandas")
    x = pandas.DataFrame({"a": pandas.array(LAST, dtype=dtype)} | ({"b": [1.0, 2.0, 3.0, 4.0]} if beside else {}))
    for take in (lambda: model().fit(x, Y, verbose=0), lambda: model().predict(x, verbose=0)):
        with pytest.raises(DataError, match=f"without a value in row 2 of the column 'a', of dtype {dtype}") as caught:
            take()
        line = caught.value.instead.partition(", or")[0]
        assert line == f"x.fillna({{'a': {nothing}}})"
    filled = x.fillna({"a": eval(nothing)})
    assert np.isfinite(model().fit(filled, Y, verbose=0).history["loss"]).all()


def test_columns_alone_of_pandas():
    pandas = pytest.importorskip("pandas")
    x = np.ones((4, 1), "float32")
    column = pandas.Series(LAST, dtype="Int64")
    with pytest.raises(DataError, match="y is a Series without a value in row 2"):
        model().fit(x, column, verbose=0)
    with pytest.raises(DataError, match="sample_weight is a Series without a value in row 2"):
        model().fit(x, Y, sample_weight=column, verbose=0)
    model().fit(x, column.fillna(0), verbose=0)


def test_what_is_whole_or_nan_in_pandas_is_taken():
    pandas = pytest.importorskip("pandas")
    whole = pandas.DataFrame({"a": pandas.array([1, 2, 3, 4], dtype="Int64"), "b": [True, False, True, True]})
    model().fit(whole, Y, verbose=0)
    of_nan = pandas.DataFrame({"a": [1.0, np.nan]})
    assert np.isnan(model().predict(of_nan, verbose=0)).tolist() == [[False], [True]]


def test_polars():
    polars = pytest.importorskip("polars")
    x = polars.DataFrame({"a": [1.0, 0.0, None, 1.0], "b": [1, 2, 3, 4]})
    with pytest.raises(DataError, match="without a value in row 2 of the column 'a'") as caught:
        model().fit(x, Y, verbose=0)
    line = caught.value.instead.partition(", or")[0]
    assert line == "x.with_columns(polars.col('a').fill_null(0.0))"
    model().fit(eval(line), Y, verbose=0)
    with pytest.raises(DataError, match="y is a Series without a value in row 2"):
        model().fit(x[["b"]], x["a"], verbose=0)


def test_tables_in_direct_calls_are_refused():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    data = {"b": [1.0, 2.0, 3.0, 4.0], "a": [1, 2, 3, 4]}
    for library in (pandas, polars):
        table = library.DataFrame(data)
        with pytest.raises(gx.errors.ArgumentTypeError, match="a DataFrame with the columns 'b', 'a'") as caught:
            model()(table)
        columns = ["a", "b"]
        line = caught.value.instead.partition(",")[0]
        assert model()(eval(line, {"table": table, "columns": columns})).shape == (4, 1)
