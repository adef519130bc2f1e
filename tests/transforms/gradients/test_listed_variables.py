"""A step with the Variables that a Module has listed says what it builds meanwhile; one with chosen ones does not."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops

X = np.random.default_rng(0).normal(size=(8, 3)).astype("float32")


def made():
    """A model with an encoder that is built, and a head that is not; the encoder; and a loss."""
    encoder = gx.Sequential([layers.Dense(4)])
    encoder(X)
    model = gx.Sequential([encoder, layers.Dense(1)])
    return model, encoder, lambda: ops.mean(model(X) ** 2)


def minimize(loss, variables):
    gx.optimizers.SGD(0.1).minimize(loss, variables)


def sharpened(loss, variables):
    gx.optimizers.SAM(gx.optimizers.SGD(0.1)).minimize(loss, variables)


def gradient(loss, variables):
    gx.value_and_grad(loss, wrt=variables)()


def compiled(loss, variables):
    optimizer = gx.optimizers.SGD(0.1)
    gx.jit(lambda: optimizer.minimize(loss, variables))()


@pytest.mark.parametrize("step", [minimize, gradient, compiled, sharpened])
@pytest.mark.parametrize("others", [False, True], ids=["at once", "listed before"])
@pytest.mark.parametrize("kind", [list, tuple])
def test_all_that_a_model_has_so_far(step, others, kind):
    model, encoder, loss = made()
    variables = kind(model.trainable_variables)
    if others:
        _ = gx.Sequential([layers.Dense(2)]).trainable_variables
    before = encoder.layers[0].kernel.numpy()
    with pytest.raises(gx.errors.GradientError, match=r"(?s)made 'layers/1/kernel'.*build_for\(x\) before"):
        step(loss, variables)
    np.testing.assert_array_equal(encoder.layers[0].kernel, before)
    step(loss, model.trainable_variables)


@pytest.mark.parametrize("step", [minimize, gradient, compiled, sharpened])
def test_a_penalty_of_the_loss_lists_them_as_well(step):
    model, _, loss = made()
    with pytest.raises(gx.errors.GradientError, match="made 'layers/1/kernel'"):
        step(lambda: loss() + sum(ops.sum(v**2) for v in model.trainable_variables), model.trainable_variables)


@pytest.mark.parametrize("step", [minimize, gradient, compiled, sharpened])
@pytest.mark.parametrize(
    "choose",
    [
        lambda model, encoder: encoder.trainable_variables,
        lambda model, encoder: [v for v in model.trainable_variables if v.name == "kernel"],
        lambda model, encoder: [model.trainable_variables, encoder.trainable_variables][1],
        lambda model, encoder: [encoder.layers[0].kernel],
    ],
)
def test_what_somebody_chose(choose, step):
    model, encoder, loss = made()
    step(loss, choose(model, encoder))
    assert len(model.trainable_variables) == 4
