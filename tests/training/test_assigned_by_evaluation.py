"""What an evaluation assigns: states are put back, counters are to move, and of weights a warning says so once."""

import warnings

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops

X = np.random.default_rng(0).normal(size=(8, 3)).astype("float32")


class Teacher(gx.Model):
    """A model whose loss moves an average of its weights."""

    def __init__(self, role, place):
        super().__init__()
        self.student = layers.Dense(1, use_bias=False)
        self.average = gx.Variable(np.zeros((3, 1), "float32"), trainable=False, role=role)
        self.place = place

    def _move(self):
        self.average.assign(0.9 * self.average + 0.1 * ops.stop_gradient(self.student.kernel.value))

    def call(self, x, training=False):
        out = self.student(x)
        if self.place == "call" or (self.place == "training" and training):
            self._move()
        return out

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None):
        if self.place == "loss":
            self._move()
        return ops.mean((y_pred - x @ self.average.value - 1) ** 2)


def losses(role, place, **options):
    gx.set_random_seed(0)
    model = Teacher(role, place)
    model.compile(gx.optimizers.SGD(0.1))
    return model, model.fit(X, epochs=3, verbose=0, **options).history["loss"]


@pytest.mark.parametrize("place", ["loss", "call"])
def test_a_weight_that_a_validation_assigns_is_told_once(place):
    with pytest.warns(UserWarning, match="the evaluation of Teacher assigns 'average'") as told:
        model, _ = losses("weight", place, validation_data=(X,))
    assert len([one for one in told if "assigns" in str(one.message)]) == 1
    assert "role='state'" in str(told[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.evaluate(X, verbose=0)


def test_a_weight_that_evaluate_assigns_is_told():
    model, _ = losses("weight", "loss")
    with pytest.warns(UserWarning, match="the evaluation of Teacher assigns 'average'"):
        model.evaluate(X, verbose=0)


@pytest.mark.broad
@pytest.mark.parametrize("place", ["loss", "call"])
def test_a_state_has_its_value_back_as_the_warning_says(place):
    assert losses("state", place)[1] == losses("state", place, validation_data=(X,))[1]


@pytest.mark.broad
def test_what_only_training_assigns_and_counters_are_not_told():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert losses("weight", "training")[1] == losses("weight", "training", validation_data=(X,))[1]
        losses("counter", "loss", validation_data=(X,))
        losses("weight", "loss")  # no evaluation
