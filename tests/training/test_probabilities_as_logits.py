"""A loss of logits that gets what softmax or sigmoid gave tells so at the first step; nothing else does."""

import warnings

import numpy as np
import pytest

import graftax as gx
from graftax import layers, losses, metrics, ops

X = np.random.default_rng(0).normal(size=(8, 4)).astype("float32")
LABELS = np.arange(8) % 3
ONE_HOT = np.eye(3, dtype="float32")[LABELS]


class Own(gx.Model):
    def __init__(self, end):
        super().__init__()
        self.dense = layers.Dense(3)
        self.end = end

    def call(self, x):
        return self.end(self.dense(x))


class OwnStep(Own):
    def train_step(self, batch):
        x, y = batch
        with gx.GradientTape() as tape:
            y_pred = self(x, training=True)
            loss = self.compute_loss(x, y, y_pred)
        self.optimizer.apply(tape.gradient(loss, self.trainable_variables), self.trainable_variables)
        return {"loss": loss}


def graph(end):
    x = gx.Input((4,))
    return gx.Model(x, end(layers.Dense(3)(x)))


MISTAKES = {
    "Dense": lambda: gx.Sequential([layers.Dense(3, activation="softmax")]),
    "sigmoid": lambda: gx.Sequential([layers.Dense(3, activation="sigmoid")]),
    "Activation": lambda: gx.Sequential([layers.Dense(3), layers.Activation("softmax")]),
    "Softmax": lambda: gx.Sequential([layers.Dense(3), layers.Softmax()]),
    "inner model": lambda: gx.Sequential([gx.Sequential([layers.Dense(3, activation="softmax")])]),
    "graph": lambda: graph(layers.Activation("softmax")),
    "op in a graph": lambda: graph(ops.softmax),
    "op in a call": lambda: Own(ops.softmax),
    "function in a call": lambda: Own(gx.activations.sigmoid),
    "layer in a call": lambda: Own(layers.Activation("softmax")),
    "own step": lambda: OwnStep(ops.softmax),
    "half": lambda: gx.Sequential([layers.Dense(3, activation="softmax", dtype="mixed_bfloat16")]),
}
RIGHT = {
    "no activation": lambda: gx.Sequential([layers.Dense(3)]),
    "computed from them": lambda: Own(lambda x: ops.log(ops.softmax(x))),
    "a gate": lambda: Own(lambda x: x * ops.sigmoid(x)),
    "a hidden layer": lambda: gx.Sequential([layers.Dense(5, activation="sigmoid"), layers.Dense(3)]),
    "log_softmax": lambda: gx.Sequential([layers.Dense(3, activation="log_softmax")]),
}


def told_of(model, loss, y, **how):
    model.compile("sgd", loss, **how)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        model.fit(X, y, batch_size=4, epochs=2, verbose=0)
        model.evaluate(X, y, verbose=0)
    return [str(one.message) for one in found]


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("eager", [False, True])
@pytest.mark.parametrize("name", MISTAKES)
def test_probabilities_that_a_loss_takes_for_logits_are_told_of_once(name, eager):
    loss = losses.CategoricalCrossentropy(from_logits=True)
    (told,) = told_of(MISTAKES[name](), loss, ONE_HOT, run_eagerly=eager)
    assert "CategoricalCrossentropy(from_logits=True) takes them for logits" in told


@pytest.mark.parametrize("end", ["softmax", "log_softmax", None])
def test_ctc_takes_logits_and_their_logarithms_of_probabilities(end):
    model = gx.Sequential([layers.Dense(4, activation=end)])
    model.compile("sgd", losses.CTC())
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        model.fit(np.ones((2, 6, 3), "float32"), np.array([[1, 2], [2, 0]]), verbose=0)
    told = [str(one.message) for one in found]
    assert len(told) == (end == "softmax")
    assert all(
        "CTC() takes them for logits" in one and one.endswith("Instead: no softmax at the end of the model")
        for one in told
    )


@pytest.mark.parametrize("loss", [losses.BinaryCrossentropy, losses.SparseCategoricalCrossentropy])
def test_the_line_to_write_is_silent(loss):
    y = LABELS if loss is losses.SparseCategoricalCrossentropy else ONE_HOT
    assert len(told_of(MISTAKES["Dense"](), loss(from_logits=True), y)) == 1
    assert told_of(MISTAKES["Dense"](), loss(), y) == []


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("name", RIGHT)
def test_other_ends_of_a_model_are_silent(name):
    assert told_of(RIGHT[name](), losses.CategoricalCrossentropy(from_logits=True), ONE_HOT) == []


@pytest.mark.broad
def test_an_output_of_probabilities_beside_one_of_logits_is_silent():
    x = gx.Input((4,))
    logits = layers.Dense(3)(x)
    model = gx.Model(x, {"logits": logits, "shares": ops.softmax(logits)})
    loss = losses.CategoricalCrossentropy(from_logits=True)
    assert told_of(model, {"logits": loss}, {"logits": ONE_HOT}) == []
    (told,) = told_of(model, {"shares": loss}, {"shares": ONE_HOT})
    assert "of the output 'shares'" in told


@pytest.mark.broad
def test_a_metric_of_logits_is_told_of():
    (told,) = told_of(MISTAKES["Dense"](), "mse", ONE_HOT, metrics=[metrics.AUC(from_logits=True)])
    assert "the metric AUC(from_logits=True)" in told
