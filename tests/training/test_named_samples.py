"""Samples of a data set that are dicts or rows of a table: parts and columns count by name, whatever their order."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from tests.training.tables import Table

X = np.random.default_rng(0).normal(size=(12, 3)).astype("float32")
WEIGHTS = np.float32([[1.0], [10.0], [100.0]])
Y = X @ WEIGHTS


class Series:
    """What graftax asks of a row, or a part of a column, of pandas."""

    def __init__(self, values, index):
        self._values, self.index = np.asarray(values, "float32"), list(index)
        self.dtype, self.shape, self.ndim = self._values.dtype, self._values.shape, 1

    def __len__(self):
        return len(self._values)

    def to_numpy(self):
        return self._values

    def __array__(self, dtype=None, copy=None):
        return self._values


class Samples:
    def __init__(self, get):
        self._get = get

    def __len__(self):
        return len(X)

    def __getitem__(self, i):
        return self._get(i)


def row(i, names="abc"):
    return Series([X[i, "abc".index(name)] for name in names], names)


def as_dict(i, names="abc"):
    return {name: X[i, "abc".index(name)] for name in names}


def turned(i):
    return ("abc", "cab", "bca")[i % 3]


class ByName(gx.Model):
    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(1, use_bias=False)

    def call(self, x):
        return self.dense(ops.stack([x["a"], x["b"], x["c"]], axis=-1))


def fitted(get, model=None):
    model = model or gx.Sequential([layers.Dense(1, use_bias=False)])
    model.compile(gx.optimizers.SGD(0.0), "mse")
    model.fit(Samples(get), batch_size=4, verbose=0, shuffle=False)
    (model.dense if isinstance(model, ByName) else model.layers[0]).kernel.assign(WEIGHTS)
    return model


def loss(model, get, **how):
    return float(model.evaluate(Samples(get), batch_size=4, verbose=0)["loss"])


@pytest.mark.parametrize("nested", [False, True])
def test_dicts_with_their_keys_in_another_order_are_stacked_by_key(nested):
    wrap = (lambda one: {"in": one}) if nested else (lambda one: one)

    class Nested(ByName):
        def call(self, x):
            return super().call(x["in"] if nested else x)

    model = fitted(lambda i: (wrap(as_dict(i, turned(i))), Y[i]), Nested())
    assert loss(model, lambda i: (wrap(as_dict(i, turned(i + 1))), Y[i])) < 1e-6


def test_targets_are_stacked_by_key():
    class Two(gx.Model):
        def __init__(self):
            super().__init__()
            self.dense = layers.Dense(1)

        def call(self, x):
            return {"u": 0.0 * self.dense(x), "v": 0.0 * self.dense(x) + 5.0}

    model = Two()
    model.compile(gx.optimizers.SGD(0.0), {"u": "mse", "v": "mse"})
    targets = [{"u": np.zeros(1, "float32"), "v": np.full(1, 5.0, "float32")} for _ in X]
    history = model.fit(
        Samples(lambda i: (X[i], dict(reversed(targets[i].items())) if i % 2 else targets[i])), batch_size=4, verbose=0
    ).history
    assert history["loss"] == [0.0]


def test_rows_with_their_columns_in_another_order_are_used_by_name():
    model = fitted(lambda i: (row(i), Y[i]))
    assert loss(model, lambda i: (row(i, turned(i + 1)), Y[i])) < 1e-6
    mixed = fitted(lambda i: (row(i, turned(i)), Y[i]))
    assert loss(mixed, lambda i: (row(i, "cab"), Y[i])) < 1e-6


@pytest.mark.parametrize("names", ["abc", "cab"])
def test_rows_and_tables_know_each_other_by_name(names):
    table = Table({name: X[:, "abc".index(name)] for name in names})
    by_rows = fitted(lambda i: (row(i), Y[i]))
    np.testing.assert_allclose(by_rows.predict(table, verbose=0), Y, rtol=1e-4, atol=1e-4)
    by_table = gx.Sequential([layers.Dense(1, use_bias=False)])
    by_table.compile(gx.optimizers.SGD(0.0), "mse")
    by_table.fit(Table({name: X[:, "abc".index(name)] for name in "abc"}), Y, verbose=0)
    by_table.layers[0].kernel.assign(WEIGHTS)
    assert loss(by_table, lambda i: (row(i, names), Y[i])) < 1e-6


REFUSED = {
    "another column": (lambda i: (row(i) if i else Series(X[i], "abd"), Y[i]), "with 'a', 'b', 'd' in sample 0"),
    "a column less": (lambda i: (row(i) if i != 2 else row(i, "ab"), Y[i]), "with 'a', 'b' in sample 2"),
    "no names": (lambda i: (row(i) if i != 2 else X[i], Y[i]), "with no names in sample 2"),
    "names later": (lambda i: (row(i) if i == 2 else X[i], Y[i]), "with no names in sample 0"),
    "another key": (lambda i: ({**as_dict(i, "ab"), "cd"[i % 2]: 1.0}, Y[i]), "sample 1 has the part '0/d'"),
    "a key less": (lambda i: (as_dict(i, "ab" if i == 1 else "abc"), Y[i]), "sample 1 has 3 parts"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_samples_with_other_names_are_refused(what):
    get, said = REFUSED[what]
    with pytest.raises(gx.errors.DataError, match=said):
        fitted(get, None if "key" not in what else ByName())


def test_labels_that_are_places_are_no_names():
    windows = lambda i: (Series(X[i], range(i, i + 3)), Series(Y[i], [i]))  # noqa: E731
    assert loss(fitted(windows), windows) < 1e-6
