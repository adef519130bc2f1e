"""What the log of traces and warnings call the functions that graftax itself compiles."""

import logging
import re

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops

LENGTHS = range(3, 9)


def train_on_masks():
    model = gx.Sequential([layers.Embedding(9, 4, mask_zero=True), layers.Dense(5)])
    model.compile("sgd", gx.losses.CTC())
    for steps in LENGTHS:
        model.train_on_batch(np.ones((2, steps), "int32"), np.ones((2, 1), "int32"))


def pooled(**settings):
    model = gx.Sequential([layers.GlobalAveragePooling1D(), layers.Dense(1)])
    model.compile("sgd", "mse", **settings)
    return model, [(np.ones((4, steps, 2), "float32"), np.ones((4, 1), "float32")) for steps in LENGTHS]


def train_in_groups():
    model, data = pooled(steps_per_execution=2)
    for x, y in data:
        model.fit(x, y, batch_size=2, verbose=0)


def evaluate_in_groups():
    model, data = pooled(steps_per_execution=2)
    for x, y in data:
        model.evaluate(x, y, batch_size=2, verbose=0)


def predict():
    model, data = pooled()
    for x, _ in data:
        model.predict(x, verbose=0)


def generate():
    write = gx.generation.Generator(lambda tokens, cache: (ops.zeros((tokens.shape[0], 3)), cache), 2)
    for steps in LENGTHS:
        write(np.zeros((1, steps), "int32"), ops.zeros(()))


@pytest.mark.in_turn(3, 1, broad=2)
@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (train_on_masks, {"Model.train_step", "Sequential.call"}),
        pytest.param(train_in_groups, {"Model.train_steps"}, marks=pytest.mark.broad),
        (evaluate_in_groups, {"Model.test_step"}),
        pytest.param(predict, {"Model.predict_step"}, marks=pytest.mark.broad),
        (generate, {"Generator.__call__"}),
    ],
)
def test_the_log_of_traces_names_steps_and_methods_that_users_know(run, expected, caplog):
    caplog.set_level(logging.INFO, "graftax")
    run()
    told = [one.getMessage().removeprefix("graftax.jit: ") for one in caplog.records if one.name == "graftax"]
    named = {re.split(" was traced| traced again", line)[0] for line in told if "traced" in line}
    assert named == expected
    assert any("was traced 5 times" in line for line in told)


def test_a_warning_of_a_step_names_it_as_users_know_it():
    class Keeps(gx.Model):
        def __init__(self):
            super().__init__()
            self.dense = layers.Dense(1)
            self.kept = None

        def call(self, x):
            return self.dense(x)

        def test_step(self, batch):
            self.kept = ops.sum(batch[0])
            return {"loss": ops.sum(self(batch[0]))}

    model = Keeps()
    model.compile("sgd", "mse", steps_per_execution=2)
    with pytest.warns(UserWarning, match=r"Keeps\.kept keeps a traced value of Model\.test_step: it has no numbers"):
        model.evaluate(np.ones((4, 3), "float32"), np.ones((4, 1), "float32"), batch_size=2, verbose=0)
