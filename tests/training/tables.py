"""A table as graftax asks of one, and models trained on some, for the tests of columns."""

import numpy as np

import graftax as gx
from graftax import layers

X = np.random.default_rng(0).normal(size=(12, 3)).astype("float32")
Y = X @ np.float32([[1.0], [2.0], [3.0]])
BOTH = X @ np.float32([[1.0, 5.0], [2.0, -1.0], [3.0, 0.0]])


class Table:
    """What graftax asks of a table of pandas or polars."""

    def __init__(self, columns):
        self._columns = columns
        self.columns = list(columns)
        self.dtypes = [np.dtype("float32")] * len(columns)
        self.shape = (len(next(iter(columns.values()))), len(columns))

    def __len__(self):
        return self.shape[0]

    def __getitem__(self, names):
        if isinstance(names, str):
            return self._columns[names]
        return Table({name: self._columns[name] for name in names})

    def drop(self, columns):
        return Table({name: one for name, one in self._columns.items() if name not in columns})

    def __array__(self, dtype=None, copy=None):
        return self.to_numpy()

    def to_numpy(self):
        return np.stack(list(self._columns.values()), axis=1)


def table(names="abc", **more):
    return Table({name: X[:, "abc".index(name)] for name in names} | more)


def targets(names="uv"):
    return Table({name: BOTH[:, "uv".index(name)] for name in names})


def model(units=1, *before):
    gx.set_random_seed(0)
    found = gx.Sequential([*before, layers.Dense(units)])
    found.compile(gx.optimizers.SGD(0.05), "mse")
    return found
