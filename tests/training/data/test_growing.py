"""Data that grow or shrink between epochs: each epoch has all that is there when it begins."""

import numpy as np
import pytest

import graftax as gx
from graftax.core.errors import DataError

X = np.ones((8, 2), "float32")


class Samples:
    def __init__(self, size):
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, row):
        assert row < self.size
        return X[0], X[0, :1]


def steps_of(data, change, **options):
    """How many batches each of three epochs had, where the data change after each."""
    model = gx.Sequential([gx.layers.Dense(1)])
    model.compile("sgd", "mse")
    counts = [0]

    def end(epoch, logs):
        change()
        counts.append(0)

    def batch(number, logs):
        counts[-1] += 1

    hooks = gx.callbacks.LambdaCallback(on_epoch_end=end, on_train_batch_end=batch)
    model.fit(data, epochs=3, verbose=0, callbacks=[hooks], **options)
    return counts[:-1]


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("by", [2, -1])
def test_each_epoch_has_the_length_of_its_beginning(by):
    samples, rows = Samples(6), [(X, X[:, :1])] * 4

    def change_samples():
        samples.size += 2 * by

    def change_rows():
        rows[:] = [(X, X[:, :1])] * (len(rows) + by)

    assert steps_of(samples, change_samples, batch_size=2) == [3, 3 + by, 3 + 2 * by]
    assert steps_of(rows, change_rows) == [4, 4 + by, 4 + 2 * by]


def test_parts_of_a_pass_need_one_length():
    samples = Samples(6)

    def change():
        samples.size += 2

    with pytest.raises(DataError, match="of length 8 that had 6 when fit began"):
        steps_of(samples, change, batch_size=2, steps_per_epoch=2)
