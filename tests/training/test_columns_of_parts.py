"""The columns of tables are known to models within models, to a Normalization that was adapted, and in batches."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.errors import ArgumentError, DataError
from tests.training.tables import Table, X, Y, model, table


def inner():
    found = model()
    found.fit(table(), Y, epochs=2, verbose=0)
    return found


def _in_a_row(first):
    return gx.Sequential([first, layers.Rescaling(2.0)])


def _declared(first):
    return gx.Sequential([gx.Input((3,)), first, layers.Rescaling(2.0)])


def _graph(first):
    inputs = gx.Input((3,))
    return gx.Model(inputs, first(inputs) * 2.0)


def _deep(first):
    return gx.Sequential([gx.Sequential([first]), layers.Rescaling(2.0)])


AROUND = pytest.mark.parametrize("around", [_in_a_row, _declared, _graph, _deep])


@AROUND
@pytest.mark.broad
@pytest.mark.in_turn(3)
def test_a_model_around_a_trained_one_knows_its_columns(around):
    outer = around(inner())
    np.testing.assert_array_equal(outer.predict(table("cab"), verbose=0), outer.predict(X, verbose=0))
    with pytest.raises(DataError, match="x is a Table without 'c'"):
        outer.predict(table("ab"), verbose=0)
    outer.compile(gx.optimizers.SGD(0.0), "mse")
    assert outer.evaluate(table("bca"), Y, verbose=0) == outer.evaluate(X, Y, verbose=0)
    outer.fit(table("bca"), Y, verbose=0)
    assert outer._gx_columns.x == ("a", "b", "c")


@AROUND
@pytest.mark.broad
def test_a_model_within_a_trained_one_knows_the_columns(around):
    first = gx.Sequential([layers.Dense(2)])
    outer = around(first)
    outer.compile("sgd", "mse")
    outer.fit(table("cab"), np.ones((12, 2), "float32"), verbose=0)
    np.testing.assert_array_equal(first.predict(table("abc"), verbose=0), first.predict(X[:, [2, 0, 1]], verbose=0))


@pytest.mark.broad
def test_what_the_outer_model_learned_goes_before():
    outer = model(1, inner())
    outer._gx_columns = outer._gx_columns._replace(x=("c", "b", "a"))
    np.testing.assert_array_equal(outer.predict(table("abc"), verbose=0), outer.predict(X[:, ::-1].copy(), verbose=0))


@pytest.mark.broad
def test_a_model_that_does_not_get_the_inputs_says_nothing():
    inputs = gx.Input((3,))
    outer = gx.Model(inputs, inner()(layers.Rescaling(1.0)(inputs)))
    wanted = outer.predict(X[:, ::-1].copy(), verbose=0)
    np.testing.assert_array_equal(outer.predict(table("cba"), verbose=0), wanted)


def adapted(data, **options):
    layer = layers.Normalization(**options)
    layer.adapt(data)
    return layer


@pytest.mark.parametrize("data", [lambda: table("abc"), lambda: [table("abc"), table("bca")]], ids=["table", "batches"])
@pytest.mark.broad
def test_a_model_that_begins_with_an_adapted_layer(data):
    one = model(1, adapted(data()))
    one.fit(table("cab"), Y, epochs=2, shuffle=False, verbose=0)
    two = model(1, adapted(X))
    two.fit(X, Y, epochs=2, shuffle=False, verbose=0)
    np.testing.assert_allclose(one.predict(table("bca"), verbose=0), two.predict(X, verbose=0), rtol=1e-5, atol=1e-6)
    with pytest.raises(DataError, match="x is a Table without 'c'"):
        model(1, adapted(data())).fit(table("ab"), Y, verbose=0)


def test_adapting_again():
    layer = adapted(table("abc"))
    first = layer.mean.numpy()
    layer.adapt(table("cab"))
    np.testing.assert_array_equal(layer.mean.numpy(), first)
    layer.adapt(Table({"d": X[:, 2], "e": X[:, 1], "f": X[:, 0]}))
    np.testing.assert_array_equal(layer.mean.numpy(), first[::-1])
    assert layer._gx_columns.x == ("d", "e", "f")
    layer.adapt(X)
    assert layer._gx_columns.x is None
    with pytest.raises(DataError, match=r"data\[1\] is a Table without 'c'(.|\n)*the first table had the columns 'a'"):
        layer.adapt([table("abc"), table("ab")])
    np.testing.assert_array_equal(layer.mean.numpy(), first)


def test_one_mean_of_all_columns_is_the_same_in_any_order():
    layer = adapted(table("abc"), axis=None)
    assert layer._gx_columns.x is None
    outer = model(1, layer)
    outer.fit(table("cab"), Y, verbose=0)
    assert outer._gx_columns.x == ("c", "a", "b")
    assert layer._gx_columns.x is None


@pytest.mark.broad
def test_checkpoints_keep_the_columns_of_parts(tmp_path):
    found = gx.Sequential([adapted(table("abc")), layers.Dense(1)])
    wanted = found.predict(X, verbose=0)
    gx.Checkpoint(model=found).save(tmp_path / "saved")
    other = model(1, layers.Normalization())
    gx.Checkpoint(model=other).restore(tmp_path / "saved")
    np.testing.assert_allclose(other.predict(table("cab"), verbose=0), wanted, rtol=1e-6)
    found.save(tmp_path / "whole")
    again = gx.load_model(tmp_path / "whole")
    np.testing.assert_allclose(again.predict(table("cab"), verbose=0), wanted, rtol=1e-6)


def batches(names):
    return [(table(one)[list(one)], Y) for one in names]


@pytest.mark.parametrize("kind", [list, iter])
@pytest.mark.broad
def test_tables_in_batches(kind):
    one = model()
    one.fit(kind(batches(["abc", "cab"])), verbose=0)
    two = model()
    two.fit([(X, Y), (X, Y)], verbose=0)
    wanted = two.predict(X, verbose=0)
    np.testing.assert_array_equal(one.predict(X, verbose=0), wanted)
    np.testing.assert_array_equal(one.predict(table("bca"), verbose=0), wanted)
    np.testing.assert_array_equal(one.predict(kind(batches(["bca"])), verbose=0), wanted)
    assert one.evaluate(kind(batches(["bca"])), verbose=0) == two.evaluate([(X, Y)], verbose=0)
    history = one.fit(X, Y, validation_data=batches(["cba"]), shuffle=False, verbose=0).history
    assert history == two.fit(X, Y, validation_data=[(X, Y)], shuffle=False, verbose=0).history
    with pytest.raises(DataError, match="x is a Table without 'c'"):
        one.predict(kind(batches(["ab"])), verbose=0)


class PyDataset:
    """Batches by index, as those of Keras: tables, cut from one."""

    num_batches = 1

    def __init__(self, names):
        self.names = names

    def __len__(self):
        return 1

    def __getitem__(self, i):
        return table(self.names), Y


@pytest.mark.broad
def test_tables_in_prefetched_batches_and_by_index():
    for given in (
        lambda names: gx.data.prefetch(batches([names])),
        lambda names: gx.data.prefetch(iter(batches([names]))),
    ):
        one = model()
        one.fit(given("abc"), verbose=0)
        assert one._gx_columns.x == ("a", "b", "c")
        wanted = one.predict(X, verbose=0)
        np.testing.assert_array_equal(one.predict(given("cab"), verbose=0), wanted)
    np.testing.assert_array_equal(one.predict(PyDataset("bca"), verbose=0), wanted)


WRONG = np.where(np.arange(36).reshape(12, 3) == 16, np.nan, X)


@pytest.mark.parametrize(
    "layer", [layers.Normalization, lambda: layers.Discretization(num_bins=3)], ids=["norm", "bins"]
)
@pytest.mark.parametrize(
    ("data", "said"),
    [
        (lambda: WRONG, r"adapt got nan in row 5, column 1\n"),
        (lambda: WRONG.tolist(), r"adapt got nan in row 5, column 1\n"),
        (lambda: iter([X, WRONG]), r"adapt got nan in row 5, column 1 of batch 1\n"),
        (lambda: WRONG.reshape(2, 6, 3), r"adapt got nan at data\[0, 5, 1\]\n"),
        (lambda: Table({"a": X[:, 0], "b": WRONG[:, 1]}), r"adapt got nan in row 5 of the column 'b'\n"),
        (lambda: np.where(np.isnan(WRONG), -np.inf, X), r"adapt got infinity in row 5, column 1\n(.|\n)*np.clip"),
    ],
    ids=["array", "list", "batches", "axes", "table", "infinite"],
)
def test_adapt_refuses_what_is_not_finite(layer, data, said):
    made = layer()
    with pytest.raises(ArgumentError, match=said):
        made.adapt(data())
    made.adapt(X)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
@pytest.mark.parametrize("nothing", [np.nan, None], ids=["nan", "missing"])
def test_the_remedies_for_missing_values_work(kind, nothing):
    library = pytest.importorskip(kind)
    column = [1.0, nothing, 3.0]
    data = library.DataFrame({"a": [1.0, 2.0, 4.0], "b": column})
    if kind == "pandas" and nothing is None:
        data = data.astype({"b": "Float64"})
    layer = layers.Normalization()
    with pytest.raises(ArgumentError, match="adapt got nan in row 1 of the column 'b'") as caught:
        layer.adapt(data)
    for line in caught.value.instead.partition(";")[0].split(", or "):
        eval(line, {"layer": layer, "data": data, "np": np})
        assert np.isfinite(layer.mean.numpy()).all()
        assert np.isfinite(layer.variance.numpy()).all()
