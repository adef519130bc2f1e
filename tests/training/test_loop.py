"""The loops: what happens around the steps."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.core.errors import DataError

X = np.arange(6, dtype="float32")[:, None]
Y = np.zeros((6, 1), "float32")


def line(**options):
    model = gx.Sequential([layers.Dense(1, use_bias=False, kernel_initializer="ones")])
    model.compile(gx.optimizers.SGD(0.0), "mse", ["mae"], **options)
    return model


class Evaluates(gx.Callback):
    """Looks at other data after each step."""

    def __init__(self):
        self.seen = []

    def on_train_batch_end(self, batch, logs=None):
        self.seen.append(self.model.evaluate(X[:2], Y[:2], verbose=0)["loss"])


@pytest.mark.broad
def test_an_evaluation_in_a_callback_leaves_the_numbers_of_the_epoch_as_they_were():
    plain = line().fit(X, Y, batch_size=2, epochs=2, shuffle=False, verbose=0).history
    watch = Evaluates()
    found = line().fit(X, Y, batch_size=2, epochs=2, shuffle=False, verbose=0, callbacks=[watch]).history
    assert found == plain
    assert watch.seen == [0.5] * 6


def test_after_an_error_in_fit_an_evaluation_is_a_plain_one():
    class Fails(gx.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            raise KeyError("mine")

    model = line()
    with pytest.raises(KeyError):
        model.fit(X, Y, verbose=0, callbacks=[Fails()])
    model.evaluate(X, Y, verbose=0)
    assert [float(metric.result()) for metric in model.metrics] == pytest.approx([55 / 6, 2.5])


@pytest.mark.parametrize("run", ["evaluate", "predict", "validation"])
def test_rows_never_count_twice_outside_of_training(run):
    calls = {
        "evaluate": lambda: line().evaluate(X, Y, batch_size=2, steps=4, verbose=0),
        "predict": lambda: line().predict(X, batch_size=2, steps=4, verbose=0),
        "validation": lambda: line().fit(X, Y, batch_size=2, validation_data=(X, Y), validation_steps=4, verbose=0),
    }
    with pytest.raises(DataError, match="4 steps over 6 rows, which are 3 batches of 2"):
        calls[run]()


@pytest.mark.broad
def test_fewer_steps_take_the_first_rows():
    assert line().evaluate(X, Y, batch_size=2, steps=1, verbose=0)["mae"] == 0.5
    assert line().predict(X, batch_size=2, steps=2, verbose=0).shape == (4, 1)


@pytest.mark.parametrize("run", ["evaluate", "predict"])
def test_batches_that_end_early_are_told(run):
    with pytest.warns(UserWarning, match="after 1 of 3 steps"):
        getattr(line(), run)([(X, Y)], steps=3, verbose=0)
