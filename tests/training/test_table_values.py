"""The values of tables: inputs are float32, targets of integers stay labels, and what is no number is named."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.errors import DataError
from graftax.training.arrays import as_arrays
from tests.training.tables import Table

LABELS = np.array([0, 2, 1, 0])


class Whole(Table):
    """A table of integers."""

    def __init__(self, columns):
        super().__init__(columns)
        self.dtypes = [column.dtype for column in columns.values()]


def test_tables_of_integers_are_labels_as_targets_only():
    one = Whole({"label": LABELS})
    assert as_arrays(one, "x").dtype == "float32"
    found = as_arrays(one, "y", keeps_integers=True)
    assert found.dtype == "int32"
    np.testing.assert_array_equal(found, LABELS[:, None])
    mixed = Whole({"label": LABELS, "part": np.float32([0.5, 1, 2, 3])})
    assert as_arrays(mixed, "y", keeps_integers=True).dtype == "float32"
    with pytest.raises(DataError, match="holds 10995116277.., of dtype int64"):
        as_arrays(Whole({"label": LABELS + 2**40}), "y", keeps_integers=True)


@pytest.mark.broad
def test_fit_takes_them_as_an_array():
    def loss(y):
        gx.set_random_seed(0)
        model = gx.Sequential([layers.Dense(3)])
        model.compile("sgd", gx.losses.SparseCategoricalCrossentropy(from_logits=True))
        x = np.ones((4, 2), "float32")
        options = {"validation_split": 0.5, "shuffle": False, "verbose": 0}
        return model.fit(x, y, **options).history | model.evaluate([(x, y)], verbose=0)

    assert loss(Whole({"label": LABELS})) == loss(LABELS[:, None])


def test_numbers_beyond_float32_are_refused():
    with pytest.raises(DataError, match=r"x holds 1e\+300, of dtype float64"):
        as_arrays(Whole({"a": np.array([1.0, 1e300])}), "x")
    assert np.isinf(as_arrays(Whole({"a": np.array([1.0, np.inf])}), "x")).tolist() == [[False], [True]]


DATES = ["2020-01-03", "2020-01-01"]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_the_line_for_columns_that_hold_no_numbers_works(library):
    made = pytest.importorskip(library)
    dates = made.to_datetime(DATES) if library == "pandas" else made.Series(DATES).str.to_date()
    tables = {
        "dates": made.DataFrame({"a": dates, "b": [1.0, 2.0]}),
        "texts": made.DataFrame({"a": ["u", "v"], "b": [1.0, 2.0]}),
    }
    if library == "pandas":
        tables["categories"] = made.DataFrame({"a": made.Series([10, 30], dtype="category"), "b": [1.0, 2.0]})
        tables["objects"] = made.DataFrame({"a": np.array([1, 2], object), "b": [1.0, 2.0]})
    for kind, x in tables.items():
        with pytest.raises(DataError, match="whose columns 'a' hold no numbers") as caught:
            as_arrays(x, "x")
        line = (
            caught.value.instead.split(", in days")[0]
            .split(", or numbers")[0]
            .split(": its")[0]
            .split(" for the numbers")[0]
        )
        found = eval(line, {"x": x, "np": np, "scale": 1.0, library: made})
        if kind == "dates" and library == "pandas":
            assert as_arrays(found, "x").tolist() == [2, 0]
        else:
            assert as_arrays(found, "x").shape == (2, 1 if kind == "texts" else 2)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_labels_in_a_table_of_a_library(library):
    table = pytest.importorskip(library).DataFrame({"label": LABELS})
    assert as_arrays(table, "y", keeps_integers=True).dtype == "int32"
    assert as_arrays(table, "x").dtype == "float32"
