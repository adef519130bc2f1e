"""What a batch means, wherever batches come from: fit, evaluate, predict, one batch, validation."""

from itertools import pairwise

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core.errors import DataError
from graftax.training.batch import is_list_of_batches, parts_of_validation, unpack

X = np.arange(5, dtype="float32")[:, None]
Y = np.zeros((5, 1), "float32")
W = np.array([1, 1, 1, 1, 10], "float32")


def line(**options):
    model = gx.Sequential([layers.Dense(1, use_bias=False, kernel_initializer="ones")])
    model.compile(gx.optimizers.SGD(0.0), "mse", **options)
    return model


class Loader:
    """Yields batches anew each time, made by a function of slices of the rows."""

    def __init__(self, make, size=2):
        self.make, self.size = make, size

    def __iter__(self):
        for start in range(0, 5, self.size):
            rows = slice(start, start + self.size)
            yield self.make(X[rows], Y[rows], W[rows])

    def __len__(self):
        return -(-5 // self.size)


KINDS = {
    "list": lambda x, y, w: [x, y],
    "tuple": lambda x, y, w: (x, y),
    "list of plain rows in a tuple": lambda x, y, w: (x.tolist(), y.tolist()),
    "device arrays": lambda x, y, w: [ops.asarray(x), ops.asarray(y)],
}


@pytest.mark.broad
@pytest.mark.in_turn(3)
@pytest.mark.parametrize("kind", KINDS)
def test_t2_lists_and_tuples_from_an_iterable_are_batches(kind):
    model, loader = line(metrics=["mae"]), Loader(KINDS[kind])
    history = model.fit(loader, epochs=2, validation_data=Loader(KINDS[kind], 3), verbose=0).history
    assert history.pop("learning_rate") == [0, 0]
    assert history == {"loss": [6, 6], "mae": [2, 2], "val_loss": [6, 6], "val_mae": [2, 2]}
    assert model.evaluate(loader, verbose=0) == {"loss": 6, "mae": 2}
    np.testing.assert_array_equal(model.predict(loader, verbose=0), X)
    np.testing.assert_array_equal(model.predict(iter(loader), verbose=0), X)
    assert model.fit(list(loader), verbose=0).history["loss"] == [6]


@pytest.mark.broad
@pytest.mark.parametrize("pack", [tuple, list])
def test_t2_weights_in_a_batch(pack):
    loader = Loader(lambda x, y, w: pack((x, y, w)))
    assert line().fit(loader, verbose=0).history["loss"][0] == pytest.approx(34.8)
    assert line().evaluate(loader, verbose=0)["loss"] == pytest.approx(34.8)


@pytest.mark.broad
def test_t2_dicts_and_single_arrays_are_inputs():
    class Named(gx.Model):
        def call(self, x):
            return x["a"] * 1

    model = Named()
    model.compile(None, "mse")
    pairs = [[{"a": X[:2]}, Y[:2]], [{"a": X[2:]}, Y[2:]]]
    assert model.evaluate(pairs, verbose=0)["loss"] == pytest.approx(6)
    np.testing.assert_array_equal(model.predict([{"a": X[:2]}, {"a": X[2:]}], verbose=0), X)
    np.testing.assert_array_equal(model.predict(({"a": X[i:]} for i in (0,)), verbose=0), X)
    np.testing.assert_array_equal(line().predict((part for part in (X[:2], X[2:])), verbose=0), X)


@pytest.mark.broad
@pytest.mark.parametrize(
    "data",
    [[X, Y], (X, Y), [(X, Y)], [(X[:2], Y[:2]), (X[2:], Y[2:])], Loader(KINDS["list"]), [X.tolist(), Y.tolist()]],
    ids=["list", "tuple", "one batch", "batches", "loader", "plain lists"],
)
def test_t2_validation_data_in_all_forms(data):
    history = line().fit(X, Y, epochs=2, validation_data=data, verbose=0).history
    assert history["val_loss"] == [6, 6]


@pytest.mark.broad
def test_t2_validation_with_weights_in_a_list():
    history = line().fit(X, Y, validation_data=[X, Y, W], verbose=0).history
    assert history["val_loss"] == pytest.approx([34.8])


def test_t2_a_model_of_two_inputs_takes_them_in_a_list():
    class Two(gx.Model):
        def call(self, x):
            return x[0] + x[1]

    model = Two()
    model.compile(None, "mse")
    assert model.evaluate([X, X], Y, verbose=0)["loss"] == 24
    assert model.evaluate([[[X, X], Y]], verbose=0)["loss"] == 24
    np.testing.assert_array_equal(model.predict([X, X], verbose=0), 2 * X)
    np.testing.assert_array_equal(model.predict(iter([([X, X], Y)]), verbose=0), 2 * X)


AMBIGUOUS = {
    "rows or parts": lambda m: m.fit(iter([[[1.0], [2.0]]]), verbose=0),
    "four": lambda m: m.fit(iter([[X, X, X, X]]), verbose=0),
    "none": lambda m: m.fit(iter([[]]), verbose=0),
    "lists of lists": lambda m: m.fit(X, Y, validation_data=[[X, X], [Y, Y]], verbose=0),
    "dicts": lambda m: m.fit(X, Y, validation_data=[{"a": X}, {"b": Y}], verbose=0),
    "text": lambda m: m.fit("train.csv", verbose=0),
    "a dict of texts": lambda m: m.fit({"a": "train.csv"}, verbose=0),
    "a set": lambda m: m.predict({1, 2}, verbose=0),
    "a function": lambda m: m.predict(lambda: [X], verbose=0),
    "samples by index": lambda m: m.predict(type("Set", (), {"__getitem__": None, "__len__": None})(), verbose=0),
    "texts": lambda m: m.predict([X, "b"], verbose=0),
    "y beside batches": lambda m: m.evaluate([(X, Y)], Y, verbose=0),
    "size of batches": lambda m: m.evaluate([(X, Y)], batch_size=2, verbose=0),
    "size of validation batches": lambda m: m.fit(X, Y, validation_data=[(X, Y)], validation_batch_size=2, verbose=0),
    "targets left over": lambda m: m.fit(X, {"a": Y}, verbose=0),
    "two targets": lambda m: m.fit(X, [Y, Y], verbose=0),
    "ragged": lambda m: m.fit([[1.0], [1.0, 2.0]], Y[:2], verbose=0),
    "large integers": lambda m: m.predict(np.array([[2**40]]), verbose=0),
    "large floats": lambda m: m.predict(np.array([[1e300]]), verbose=0),
}


@pytest.mark.parametrize("name", AMBIGUOUS)
def test_t2_what_cannot_be_or_may_be_two_things_is_refused_in_three_beats(name):
    with pytest.raises(DataError) as caught:
        AMBIGUOUS[name](line())
    error = caught.value
    assert error.received
    assert error.reason
    assert error.instead
    assert len(str(error)) < 600


def test_t2_one_place_decides():
    assert unpack([X, Y])[2] is None
    assert unpack(X)[1:] == (None, None)
    assert unpack([1.0, 2.0])[1] is None
    assert parts_of_validation([X, Y])[1] is Y
    assert parts_of_validation([(X, Y)]) is None
    assert not is_list_of_batches([])
    assert not is_list_of_batches([X, Y])


def test_t2_torch_data_loader(torch):
    data = torch.utils.data
    loader = data.DataLoader(data.TensorDataset(torch.tensor(X), torch.tensor(Y), torch.tensor(W)), batch_size=2)
    two = data.DataLoader(data.TensorDataset(torch.tensor(X), torch.tensor(Y)), batch_size=2)
    model = line(metrics=["mae"])
    history = model.fit(two, epochs=2, validation_data=two, verbose=0).history
    assert history.pop("learning_rate") == [0, 0]
    assert history == {"loss": [6, 6], "mae": [2, 2], "val_loss": [6, 6], "val_mae": [2, 2]}
    assert model.evaluate(loader, verbose=0)["loss"] == pytest.approx(34.8)
    np.testing.assert_array_equal(model.predict(loader, verbose=0), X)
    for x, y in two:
        assert set(model.train_on_batch(x, y)) == {"loss", "mae"}
    assert model.test_on_batch(torch.tensor(X), torch.tensor(Y))["loss"] == 6

    class Named(data.Dataset):
        def __len__(self):
            return 5

        def __getitem__(self, i):
            return {"a": torch.tensor(X[i]).requires_grad_()}, Y[i]

    class OfNames(gx.Model):
        def call(self, x):
            return x["a"] * 1

    named = OfNames()
    named.compile(None, "mse")
    assert named.evaluate(data.DataLoader(Named(), batch_size=3), verbose=0)["loss"] == 6
    assert named.evaluate(Named(), batch_size=3, verbose=0)["loss"] == 6

    class Stream(data.IterableDataset):
        def __iter__(self):
            yield from zip(torch.tensor(X).bfloat16(), torch.tensor(Y), strict=True)

    assert line().fit(data.DataLoader(Stream(), batch_size=2), epochs=2, verbose=0).history["loss"] == [6, 6]


@pytest.mark.broad
def test_t2_a_table(monkeypatch):
    class Table:
        """What a DataFrame is like: a shape, names to iterate over, and an array on request."""

        shape = (5, 1)

        def __array__(self, dtype=None, copy=None):
            return X.astype("float64")

        def __iter__(self):
            return iter(["column"])

    assert line().fit(Table(), Y, verbose=0).history["loss"] == [6]
    np.testing.assert_array_equal(line().predict(Table(), verbose=0), X)


def classes(**options):
    model = gx.Sequential([layers.Dense(2, kernel_initializer="zeros")])
    model.compile(gx.optimizers.SGD(0.0), gx.losses.SparseCategoricalCrossentropy(from_logits=True), **options)
    return model


LABELS = np.array([0, 1, 1, 1, 0])


@pytest.mark.broad
@pytest.mark.parametrize("batches", [[4, 1], pytest.param([2, 2, 1], marks=pytest.mark.slow)])
def test_t6_class_weight_with_an_iterable(batches):
    cuts = np.cumsum([0, *batches])
    parts = [(X[a:b], LABELS[a:b]) for a, b in pairwise(cuts)]
    weighted = [(*part, W[a:b]) for part, a, b in zip(parts, cuts, cuts[1:], strict=False)]
    arrays = classes().fit(X, LABELS, batch_size=4, class_weight={1: 3.0}, verbose=0).history["loss"]
    assert arrays[0] == pytest.approx(np.log(2) * 11 / 5, rel=1e-5)
    for x in (parts, iter(parts), (part for part in parts)):
        assert classes().fit(x, class_weight={1: 3.0}, verbose=0).history["loss"] == pytest.approx(arrays, rel=1e-5)
    both = classes().fit(weighted, class_weight={1: 3.0}, verbose=0).history["loss"]
    expected = np.log(2) * np.dot(W, np.where(LABELS == 1, 3, 1)) / 5
    assert both[0] == pytest.approx(expected, rel=1e-5)
    column = classes().fit(X, LABELS, sample_weight=W[:, None], class_weight={1: 3.0}, verbose=0).history["loss"]
    assert column[0] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("weights", "y", "said"),
    [
        ({7: 2.0}, LABELS, "class 7"),
        ({-1: 2.0}, LABELS, "counted from 0"),
        ({0: -2.0}, LABELS, "not below 0"),
        ({0: float("nan")}, LABELS, "finite"),
        ({"cat": 2.0}, LABELS, "counted from 0"),
        ({}, LABELS, "no class"),
        ([1.0, 2.0], LABELS, "weight for each class"),
        ({1: 2.0}, np.ones((5, 2), "float32"), "one-hot"),
        ({2: 2.0}, np.eye(2, dtype="float32")[LABELS], "2 classes"),
        ({1: 2.0}, np.full(5, 0.5, "float32"), "integers"),
        ({1: 2.0}, np.zeros((5, 2, 2), "int32"), "one class a row"),
        ({1: 2.0}, None, "no targets"),
        ({1: 2.0}, {"a": LABELS}, "several outputs"),
    ],
)
def test_t6_class_weights_that_cannot_be(weights, y, said):
    with pytest.raises((ValueError, TypeError), match=said):
        classes().fit(X, y, class_weight=weights, verbose=0)


@pytest.mark.parametrize(
    "x",
    [[(X, Y)], [[X, Y], [X, Y]], iter([(X, Y)]), Loader(KINDS["tuple"])],
    ids=["tuples", "lists", "iterator", "loader"],
)
def test_t7_validation_split_of_batches_is_refused(x):
    with pytest.raises(DataError, match="validation_data"):
        line().fit(x, validation_split=0.5, verbose=0)


@pytest.mark.broad
def test_wide_numbers_become_narrow_where_they_fit():
    model = line()
    np.testing.assert_array_equal(model.predict(X.astype("float64"), verbose=0), X)
    assert model.evaluate(X.astype("int64").astype("float64"), Y.astype("int64"), verbose=0)["loss"] == 6
