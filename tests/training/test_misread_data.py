"""Data that are given in a form that graftax does not read: the message has the line that works."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.errors import ArgumentError, DataError, DTypeError, ShapeError
from graftax.layers.foreign_tables import is_unread
from tests.training.tables import X, Y, model, table

WEIGHTS = np.linspace(0.5, 1.5, 12).astype("float32")


@pytest.mark.parametrize("method", ["fit", "evaluate", "train_on_batch"])
def test_weights_given_as_the_name_of_a_column(method):
    """The message was about texts that a StringLookup takes."""
    x, found = table(w=WEIGHTS, y=Y[:, 0]), model()
    with pytest.raises(DataError, match="sample_weight='w'\n(.|\n)*only targets can be the name of a column") as caught:
        getattr(found, method)(x, "y", sample_weight="w")
    assert "model.fit(x.drop('w'), 'y', sample_weight=x['w']), which takes" in caught.value.instead


def test_weights_by_a_name_that_is_not_there():
    with pytest.raises(DataError, match=r"x\['weight'\]"):
        model().fit(table(weight=WEIGHTS), Y, sample_weight="weigth", verbose=0)
    with pytest.raises(DataError, match="the columns are 'a', 'b', 'c'"):
        model().fit(table(), Y, sample_weight="importance", verbose=0)
    with pytest.raises(DataError, match=r"for name, part in x.items\(\) if name != 'w'"):
        model().fit({"a": X, "w": WEIGHTS}, Y, sample_weight="w", verbose=0)
    with pytest.raises(DataError, match=r"gx.data.columns\(x, y=\"...\", sample_weight='w'\)"):
        model().fit([{"a": X, "w": WEIGHTS}], sample_weight="w", verbose=0)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_the_line_for_weights_works(library):
    frames = pytest.importorskip(library)
    x = frames.DataFrame({"a": X[:, 0], "b": X[:, 1], "w": WEIGHTS, "y": Y[:, 0]})
    found = model()
    with pytest.raises(DataError, match="sample_weight='w'") as caught:
        found.fit(x, y="y", sample_weight="w", verbose=0)
    eval(caught.value.instead.partition(", which")[0], {"model": found, "x": x})
    assert found._gx_columns.x == ("a", "b")


def _class(name, module):
    return type(name, (), {"__module__": module, "columns": property(lambda self: 1 / 0), "shape": (2, 2)})


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        (_class("LazyFrame", "polars.lazyframe.frame"), "x.collect()"),
        (_class("DataFrame", "dask.dataframe.core"), "x.compute()"),
        (_class("DataFrame", "dask_expr._collection"), "x.compute()"),
        (_class("DataFrame", "pyspark.sql.classic.dataframe"), "x.toPandas()"),
        (_class("DuckDBPyRelation", "_duckdb"), "x.df()"),
        (_class("Table", "pyarrow.lib"), "x.to_pandas()"),
        (_class("Dataset", "pyarrow._dataset"), "x.to_table().to_pandas()"),
        (_class("Table", "ibis.expr.types.relations"), "x.execute()"),
    ],
    ids=lambda one: one if isinstance(one, str) else one.__module__,
)
def test_tables_that_are_not_read_yet(kind, line):
    """Nothing is asked of them, not even for their columns, which may take long."""
    x, found, layer = kind(), model(), layers.Normalization()
    for call in (
        lambda: found.fit(x, Y),
        lambda: found.fit(x, y="y"),
        lambda: found.predict(x),
        lambda: found.evaluate(iter([(x, Y)]), verbose=0),
        lambda: found(x),
    ):
        with pytest.raises(DataError, match=rf"x is a {kind.__name__} of ") as caught:
            call()
        assert caught.value.instead == line
    with pytest.raises(DataError, match=r"data is a"):
        layer.adapt(x)
    with pytest.raises(DataError, match=r"validation_data\[0\] is a"):
        found.fit(X, Y, validation_data=(x, Y))


def test_other_classes_of_these_libraries_are_read():
    assert not is_unread(_class("DataFrame", "polars.dataframe.frame")())
    assert not is_unread(_class("DataFrame", "pyspark.pandas.frame")())
    assert not is_unread(_class("DataFrame", "mine")())


@pytest.mark.parametrize("kind", ["polars", "pyarrow", "dataset"])
def test_the_lines_for_tables_work(kind):
    columns = {"a": X[:, 0], "b": X[:, 1]}
    if kind == "polars":
        x = pytest.importorskip("polars").DataFrame(columns).lazy()
    else:
        x = pytest.importorskip("pyarrow").table(columns)
        x = pytest.importorskip("pyarrow.dataset").dataset(x) if kind == "dataset" else x
    found = model()
    with pytest.raises(DataError, match="that are in memory") as caught:  # a warning would be an error
        found.fit(x, Y, verbose=0)
    found.fit(eval(caught.value.instead, {"x": x}), Y, verbose=0)
    assert found._gx_columns.x == ("a", "b")


class Sum(gx.Model):
    def __init__(self):
        super().__init__()
        self.dense, self.table = layers.Dense(1), {"known": 1.0}

    def call(self, x):
        return self.dense(x["left"] + x["right"])


class Looks(Sum):
    def call(self, x):
        return self.dense(x["left"] * self.table["unknown"])


CALLS = {
    "call": lambda found, x: found(x),
    "fit": lambda found, x: found.fit(x, Y, verbose=0),
    "predict": lambda found, x: found.predict(x, verbose=0),
    "evaluate": lambda found, x: found.evaluate(x, Y, verbose=0),
    "train_on_batch": lambda found, x: found.train_on_batch(x, Y),
}


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("call", CALLS)
def test_a_key_that_a_call_asks_for_is_missing(call):
    """A bare KeyError named the key, and nothing else."""
    found = Sum()
    found.compile("sgd", "mse")
    found.fit({"left": X, "right": X}, Y, verbose=0)
    with pytest.raises(
        ArgumentError, match=r"\(Sum\) got a dict with the key 'left'\n(.|\n)*asks for 'right'"
    ) as caught:
        CALLS[call](found, {"left": X})
    assert "{'left': ..., 'right': ...}" in caught.value.instead
    with pytest.raises(ArgumentError, match=r"'rigth' in place of 'right'"):
        CALLS[call](found, {"left": X, "rigth": X})


def test_a_key_of_another_dict_is_not_the_input():
    with pytest.raises(KeyError, match="unknown"):
        Looks()({"left": X})


@pytest.mark.broad
def test_integers_of_a_table_for_an_embedding():
    """The line that was told, a cast, has no place in a Sequential."""
    numbers = table().to_numpy().astype("int32") % 5
    x = type(table())({name: numbers[:, i] for i, name in enumerate("abc")})
    found = gx.Sequential([layers.Embedding(5, 2), layers.Flatten(), layers.Dense(1)])
    found.compile("sgd", "mse")
    with pytest.raises(DTypeError, match=r"\(Embedding\) got dtype float32\n") as caught:
        found.fit(x.to_numpy().astype("float32"), Y, verbose=0)
    assert "if x is a table, which becomes float32, x.to_numpy()" in caught.value.instead
    found.fit(x.to_numpy(), Y, verbose=0)


class Ranks(gx.Model):
    def __init__(self):
        super().__init__()
        self.masking, self.dense = layers.Masking(0.0), layers.Dense(1)

    def call(self, x):
        return self.dense(self.masking(x))


def listwise(y_true, y_pred, mask=None):
    y_true, scores = gx.ops.reshape(y_true, y_pred.shape[:2]), y_pred[..., 0]
    kept = mask if mask is not None else gx.ops.ones_like(scores) > 0
    far = gx.ops.where(kept, scores, -1e9)
    return -gx.ops.sum(gx.ops.where(kept, y_true * gx.ops.log_softmax(far, axis=-1), 0.0), axis=-1)


@pytest.mark.broad
@pytest.mark.parametrize("weights", [None, [1.0, 2.0, 0.5]])
def test_one_number_for_a_padded_list(weights):
    """Weights for positions were always added, which such a loss cannot use."""
    lists = [np.ones((n, 2), "float32") * np.arange(1, n + 1)[:, None] for n in (2, 3, 4)]
    relevant = [np.float32(np.arange(len(one)) == 0) for one in lists]
    found = Ranks()
    found.compile(gx.optimizers.SGD(0.0), listwise)
    with pytest.raises(ShapeError, match=r"gx.data.bucket\(..., weights=None\)"):
        found.fit(gx.data.bucket(lists, relevant, sizes=[4], batch_size=3), verbose=0)
    batches = gx.data.bucket(lists, relevant, weights, sizes=[4], batch_size=3, shuffle=False, weights=None)
    [parts] = list(batches)
    assert [part.shape for part in parts] == [(3, 4, 2), (3, 4)] + [(3,)] * (weights is not None)
    alone = [float(listwise(y[None], found(x[None]))[0]) for x, y in zip(lists, relevant, strict=True)]
    wanted = np.mean(np.array(alone) * (1.0 if weights is None else np.array(weights)))
    assert found.evaluate(batches, verbose=0)["loss"] == pytest.approx(wanted, rel=1e-5)


def test_weights_of_positions_need_positions():
    lists = [np.ones((n, 2), "float32") for n in (2, 3)]
    each = [np.ones(len(one), "float32") for one in lists]
    with pytest.raises(DataError, match="and weights is not None"):
        gx.data.bucket(lists, each, each, sizes=[4], weights=None)
    with pytest.raises(ArgumentError, match="'ones', 'mean' or None"):
        gx.data.bucket(lists, each, sizes=[4], weights="none")
