"""A step that a class or a model gets after its first run is the one that runs."""

import numpy as np
import pytest

import graftax as gx


def answer(number):
    return lambda self, batch: {"loss": batch[0].sum() * 0 + number}


@pytest.mark.broad
def test_a_step_that_a_class_gets_later():
    class Fitted(gx.Model):
        def call(self, x):
            return x

    model = Fitted()
    model.compile(gx.optimizers.SGD(0.0), "mse")
    x = np.ones((4, 1), np.float32)
    found = [model.evaluate(x, x, verbose=0)["loss"]]
    Fitted.test_step = answer(42.0)
    found.append(model.evaluate(x, x, verbose=0)["loss"])
    Fitted.test_step = answer(43.0)
    found.append(model.evaluate(x, x, verbose=0)["loss"])
    del Fitted.test_step
    assert [*found, model.evaluate(x, x, verbose=0)["loss"]] == [0.0, 42.0, 43.0, 0.0]
