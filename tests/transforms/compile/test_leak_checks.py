"""With JAX's check for values that outlive their trace, compiled functions with state find none."""

import jax
import numpy as np
import pytest

import graftax as gx

X = np.ones((2, 3), "float32")


def step_of_own():
    total = gx.Variable(1.0)

    @gx.jit
    def run(x):
        total.assign_add(1.0)
        return x * total

    return lambda: run(X)


def step_of_fit():
    model = gx.Sequential([gx.layers.Dense(2), gx.layers.Dropout(0.5), gx.layers.Dense(1)])
    model.compile(gx.optimizers.Adam(0.01), "mse", metrics=["mae"])
    return lambda: model.train_on_batch(X, X[:, :1])


@pytest.mark.parametrize(
    "make", [step_of_own, pytest.param(step_of_fit, marks=pytest.mark.slow)], ids=lambda one: one.__name__
)
def test_compiled_steps_pass_the_check_for_leaks(make):
    step = make()
    with jax.checking_leaks():
        step()
