"""Masked arrays of NumPy at the doors of the host: what is hidden is never counted, looked up, set or kept."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.core.errors import ArgumentTypeError, UnsupportedValue
from graftax.optimizers import SGD, schedules

NUMBERS = np.ma.masked_array(np.float32([[1.0, 2.0], [3.0, 4.0], [5.0, 999.0]]), [[0, 0], [0, 0], [0, 1]])
COLUMN = np.ma.masked_array(np.float32([1.0, 2.0, 999.0]), [0, 0, 1])
TOKENS = np.ma.masked_array(np.array([1, 2, 3]), [0, 0, 1])
WORDS = np.ma.masked_array(["a", "b", "z"], [0, 0, 1])

ADAPTED = {
    "Normalization": (layers.Normalization, NUMBERS),
    "Discretization": (lambda: layers.Discretization(num_bins=2), NUMBERS),
    "Discretization of a column": (lambda: layers.Discretization(num_bins=2), COLUMN),
    "IntegerLookup": (layers.IntegerLookup, TOKENS),
    "StringLookup": (layers.StringLookup, WORDS),
    "TextVectorization": (layers.TextVectorization, WORDS),
}
FORMS = {"an array": lambda data: data, "a list": lambda data: [data], "a generator": lambda data: iter([data])}

DOORS = {
    "IntegerLookup": lambda: layers.IntegerLookup(vocabulary=[1, 2])(TOKENS),
    "IntegerLookup backwards": lambda: layers.IntegerLookup(vocabulary=[1, 2, 3], invert=True)(TOKENS),
    "IntegerLookup of a list": lambda: layers.IntegerLookup(vocabulary=[1, 2])([TOKENS, TOKENS]),
    "StringLookup": lambda: layers.StringLookup(vocabulary=["a", "b"])(WORDS),
    "TextVectorization": lambda: layers.TextVectorization(vocabulary=["a"])(WORDS),
    "Hashing": lambda: layers.Hashing(9)(TOKENS),
    "Hashing of text": lambda: layers.Hashing(9)(WORDS),
    "Discretization": lambda: layers.Discretization([0.0])(COLUMN),
    "CategoryEncoding": lambda: layers.CategoryEncoding(9)(TOKENS),
    "count_weights": lambda: layers.CategoryEncoding(9, "count")(np.array([1, 2, 3]), count_weights=COLUMN),
    "Normalization mean=": lambda: layers.Normalization(mean=COLUMN, variance=1.0),
    "Normalization variance=": lambda: layers.Normalization(mean=0.0, variance=COLUMN),
    "Rescaling": lambda: layers.Rescaling(COLUMN),
    "Rescaling offset=": lambda: layers.Rescaling(1.0, offset=COLUMN),
    "bin_boundaries=": lambda: layers.Discretization(COLUMN),
    "vocabulary=": lambda: layers.IntegerLookup(vocabulary=TOKENS),
    "set_vocabulary": lambda: layers.StringLookup().set_vocabulary(WORDS),
    "idf_weights=": lambda: layers.StringLookup(vocabulary=["a", "b", "c"], output_mode="tf_idf", idf_weights=COLUMN),
    "Constant": lambda: gx.initializers.Constant(COLUMN),
    "Constant of a list": lambda: gx.initializers.Constant([COLUMN]),
    "an initializer": lambda: layers.Dense(3, bias_initializer=COLUMN)(np.ones((1, 2), "float32")),
    "add_weight": lambda: layers.Dense(2).add_weight((3,), COLUMN, name="w"),
    "set_weights": lambda: _built().set_weights([np.ma.masked_array(np.ones((2, 3)), np.eye(2, 3)), np.zeros(3)]),
    "values of a schedule": lambda: schedules.PiecewiseConstant([1, 2], COLUMN),
    "boundaries of a schedule": lambda: schedules.PiecewiseConstant(TOKENS[1:], [1.0, 2.0, 3.0]),
    "a setting of an optimizer": lambda: SGD(0.1, momentum=np.ma.masked_array(0.1, True)),
}


def _built():
    layer = layers.Dense(3)
    layer(np.ones((1, 2), "float32"))
    return layer


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ADAPTED)
def test_adapt_counts_nothing_that_is_hidden(name, form):
    make, data = ADAPTED[name]
    layer = make()
    with pytest.raises(ArgumentTypeError, match=r"a masked array of shape \(3.* with 1 of \d elements masked"):
        layer.adapt(FORMS[form](data))


@pytest.mark.parametrize("door", DOORS)
def test_no_door_of_the_host_drops_a_mask(door):
    with pytest.raises(ArgumentTypeError, match=r"a masked array of shape"):
        DOORS[door]()


def test_a_checkpoint_does_not_drop_a_mask(tmp_path):
    class Keeps(layers.Layer):
        def call(self, x):
            return x

        def get_state(self):
            return {"table": COLUMN}

        def set_state(self, state):
            self.table = state["table"]

    model = gx.Sequential([Keeps()])
    model(np.ones((1, 2), "float32"))
    with pytest.raises(UnsupportedValue, match="a masked array at .*table"):
        gx.Checkpoint(model=model).save(tmp_path / "saved")


def test_the_lines_that_are_shown_adapt_without_what_is_hidden():
    layer = layers.Normalization()
    layer.adapt(NUMBERS[~np.ma.getmaskarray(NUMBERS).any(-1)].data)
    assert layer.mean.numpy().tolist() == [2.0, 3.0]
    words = layers.StringLookup()
    words.adapt(WORDS.compressed())
    assert words.get_vocabulary() == ["[UNK]", "b", "a"]


# --- whose data are rows, and whose are features or targets -----------------------------------------------------------


ONE_AXIS = {
    "an array": lambda: np.float32([1.0, 2.0, 6.0]),
    "a list": lambda: [1.0, 2.0, 6.0],
    "numbers one by one": lambda: iter([1.0, 2.0, 6.0]),
    "batches": lambda: iter([np.float32([1.0, 2.0]), np.float32([6.0])]),
    "a tuple": lambda: (1.0, 2.0, 6.0),
}


@pytest.mark.parametrize("data", ONE_AXIS)
def test_one_axis_may_be_of_rows_or_of_features(data):
    with pytest.raises(gx.errors.ShapeError, match=r"axis=None\) for one mean of all numbers") as caught:
        layers.Normalization().adapt(ONE_AXIS[data]())
    assert "(-1, 1)" in caught.value.instead
    layer = layers.Normalization(axis=None)
    layer.adapt(ONE_AXIS[data]())
    assert float(layer.mean.numpy()) == 3.0
    column = layers.Normalization()
    column.adapt(np.reshape(batch, (-1, 1)) for batch in ONE_AXIS[data]())
    assert column.mean.numpy().tolist() == [3.0]


def test_a_series_is_told_to_be_a_table():
    pandas = pytest.importorskip("pandas")
    series = pandas.Series([1.0, 2.0, 6.0], name="age")
    with pytest.raises(gx.errors.ShapeError, match=r"layer.adapt\(data.to_frame\(\)\) for one feature"):
        layers.Normalization().adapt(series)
    layer = layers.Normalization()
    layer.adapt(series.to_frame())
    assert layer.mean.numpy().tolist() == [3.0]


X, Y = np.ones((2, 3), "float32"), np.ones((2, 3), "float32")
TEXTS, LABELS = np.array(["a b", "c"]), np.array(["pos", "neg"])


@pytest.mark.parametrize(
    ("make", "data"),
    [
        (layers.Normalization, (X, Y)),
        (lambda: layers.Discretization(num_bins=2), (X, Y)),
        (layers.IntegerLookup, (np.array([1, 2]), np.array([0, 1]))),
        (layers.StringLookup, (TEXTS, LABELS)),
        (layers.TextVectorization, (TEXTS, LABELS)),
        (layers.TextVectorization, (TEXTS, np.array([0, 1]))),
        (layers.TextVectorization, (["a b", "c"], [0, 1])),
    ],
)
def test_targets_are_no_data_to_adapt_to(make, data):
    with pytest.raises(ArgumentTypeError, match=r"instead: layer.adapt\(x\)"):
        make().adapt(data)
    with pytest.raises(ArgumentTypeError, match=r"layer.adapt\(x for x, y in batches\)"):
        make().adapt(iter([data, data]))
