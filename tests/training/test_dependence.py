"""A loss that depends on nothing that is trained would train nothing: it is told at the first step."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core.errors import GradientError
from tests.training.lines import X, Y, line

IGNORANT = {
    "the targets alone": lambda y_true, y_pred: ops.mean(y_true**2, axis=-1),
    "cut": lambda y_true, y_pred: ops.mean(ops.stop_gradient(y_pred) ** 2, axis=-1),
    "a number": lambda y_true, y_pred: ops.zeros((5,)),
}


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("name", IGNORANT)
@pytest.mark.parametrize("options", [{}, {"run_eagerly": True}])
def test_a_loss_that_ignores_the_predictions_is_told_at_the_first_step(name, options):
    model = gx.Sequential([layers.Dense(1, kernel_initializer="ones")])
    model.compile("sgd", IGNORANT[name], **options)
    with pytest.raises(GradientError, match="no trainable Variable"):
        model.fit(X, Y, batch_size=5, verbose=0)
    assert int(model.optimizer.iterations) == 0
    np.testing.assert_array_equal(model.layers[0].kernel.numpy(), [[1.0]])
    assert "loss" in model.evaluate(X, Y, verbose=0)


@pytest.mark.broad
@pytest.mark.parametrize("options", [{}, {"run_eagerly": True}, {"steps_per_execution": 2}])
def test_penalties_and_added_terms_are_losses(options):
    model = gx.Sequential([layers.Dense(1, kernel_regularizer=gx.regularizers.L2(0.1))])
    model.compile("sgd", IGNORANT["the targets alone"], **options)
    model.fit(X, Y, batch_size=1, verbose=0)


def test_what_is_frozen_is_only_measured():
    model = line()
    model.compile("sgd", IGNORANT["the targets alone"])
    model.trainable = False
    with pytest.warns(UserWarning, match="nothing is trained"):
        assert model.fit(X, Y, verbose=0).history["loss"] == [0.0]


@pytest.mark.broad
@pytest.mark.parametrize("options", [{"accumulation_steps": 2}, {"loss_scale": "dynamic"}, {"ema_momentum": 0.9}])
def test_optimizers_that_do_more_train(options):
    model = line()
    model.compile(gx.optimizers.SGD(0.1, **options), "mse")
    model.fit(X, Y, batch_size=1, verbose=0)
