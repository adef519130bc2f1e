"""Arguments of compile that are assigned to the model later are refused, and what a program calls so is not."""

import numpy as np
import pytest

import graftax as gx
from graftax.errors import AssignmentError


def _model(**options):
    model = gx.Sequential([gx.Input((4,)), gx.layers.Dense(1)])
    model.compile("sgd", **({"loss": "mse"} | options))
    return model


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("loss", "mae"),
        ("loss", gx.losses.MeanAbsoluteError()),
        ("loss", {"a": "mae"}),
        ("loss_weights", [2.0]),
        ("weighted_metrics", ["mae"]),
        ("run_eagerly", True),
        ("jit_compile", False),
        ("jit_compile", "auto"),
    ],
    ids=str,
)
def test_refused(name, value):
    model = _model()
    with pytest.raises(AssignmentError, match=f"Sequential.{name} = .* after compile") as caught:
        setattr(model, name, value)
    assert "model.compile(model.optimizer, " in caught.value.instead
    assert not hasattr(model, name)


def test_the_number_of_steps_of_a_run():
    model = _model()
    with pytest.raises(AssignmentError, match="Sequential.steps_per_execution = 4 after compile") as caught:
        model.steps_per_execution = 4
    assert "loss, steps_per_execution=4)" in caught.value.instead
    assert model.steps_per_execution == 1


def test_what_is_said_works():
    model = _model()
    optimizer = model.optimizer
    model.compile(model.optimizer, "mae")
    assert model.optimizer is optimizer
    assert model.objectives.given_arguments()["loss"] == "mae"


def test_names_of_a_program():
    model = gx.Sequential([gx.Input((4,)), gx.layers.Dense(1)])
    model.loss = "own"
    model.compile("sgd", "mse")
    model.loss = "another"  # it was there before
    bare = gx.Sequential([gx.Input((4,)), gx.layers.Dense(1)])
    bare.compile("sgd")
    bare.loss = gx.losses.MeanAbsoluteError()  # of a step of its own
    counted = _model()
    counted.loss = np.float32(3.0)
    assert (model.loss, bare.loss.name, float(counted.loss)) == ("another", "mean_absolute_error", 3.0)


def test_a_compile_of_your_own_may_keep_it():
    class Own(gx.Sequential):
        def compile(self, optimizer, loss):
            super().compile(optimizer, loss)
            self.loss = loss

    model = Own([gx.Input((4,)), gx.layers.Dense(1)])
    model.compile("sgd", "mse")
    assert model.loss == "mse"
