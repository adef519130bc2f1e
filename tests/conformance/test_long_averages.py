"""Averages that are long, or forget at once: float32 loses what a formula takes away from what is as large."""

import inspect
from decimal import Decimal, getcontext

import jax
import numpy as np
import pytest

import graftax as gx
from graftax import optimizers
from graftax.optimizers import Optimizer, RAdam
from graftax.optimizers.arguments.kinds import ABOVE_06, FRACTION
from graftax.optimizers.engine.arithmetic import bias_correction

GRADIENTS = np.random.default_rng(0).normal(size=(8, 3, 2)).astype("float32") + 2  # far from where signs change
KINDS = {name: one for name, one in vars(optimizers).items() if isinstance(one, type) and issubclass(one, Optimizer)}
AVERAGES = [
    (name, argument)
    for name, one in KINDS.items()
    for argument, kind in getattr(one, "arguments", {}).items()
    if kind in (FRACTION, ABOVE_06) and argument in inspect.signature(one).parameters
]


FALLING = GRADIENTS * np.float32([1, 1e-4, 1e-4, 1e-4, 1e-4, 3e-4, 1e-4, 1e-4]).reshape(8, 1, 1)


def moved(kind, argument, beta, dtype, gradients=GRADIENTS):
    """Return how far a weight goes in some updates."""
    optimizer = kind(0.01, **{argument: beta})
    start = np.linspace(1.0, 2.0, 6).reshape(3, 2)
    weight = gx.Variable(start, dtype=dtype)
    for gradient in gradients:
        optimizer.apply([gradient.astype(dtype)], [weight])
    return weight.numpy().astype("float64") - start


@pytest.mark.in_turn(8, broad=40)
@pytest.mark.parametrize("beta", [0.999, 0.99999])
@pytest.mark.parametrize(("name", "argument"), AVERAGES)
def test_float32_moves_as_far_as_float64(name, argument, beta):
    narrow = moved(KINDS[name], argument, beta, "float32")
    with jax.enable_x64(True):
        wide = moved(KINDS[name], argument, beta, "float64")
    assert np.abs(wide).max() > 0
    atol = 1e-3 if name == "SOAP" else 2e-6  # it rotates, and rounds the angles
    np.testing.assert_allclose(narrow, wide, rtol=1e-4, atol=atol)


SHORT = [(name, argument) for name, argument in AVERAGES if KINDS[name].arguments[argument] is FRACTION]


@pytest.mark.in_turn(8, broad=40)
@pytest.mark.parametrize("beta", [0.0, 0.001, 0.3])
@pytest.mark.parametrize(("name", "argument"), SHORT)
def test_small_gradients_after_a_large_one(name, argument, beta):
    narrow = moved(KINDS[name], argument, beta, "float32", FALLING)
    with jax.enable_x64(True):
        wide = moved(KINDS[name], argument, beta, "float64", FALLING)
    atol = 1e-3 if name == "SOAP" else 2e-6
    np.testing.assert_allclose(narrow, wide, rtol=1e-4, atol=atol)


def test_averages_of_a_batch_normalization():
    x = np.random.default_rng(0).normal(size=(64, 3)).astype("float32") * 1e-4
    for momentum in (0.0, 0.01):
        layer = gx.layers.BatchNormalization(momentum=momentum)
        for _ in range(4):
            layer(x, training=True)
        wanted = x.astype("float64").var(0)
        kept = momentum**4
        np.testing.assert_allclose(layer.moving_variance, kept + (1 - kept) * wanted, rtol=1e-5)


def test_there_are_averages():
    assert {"Adam", "Nadam", "RAdam", "LAMB", "SOAP", "Muon", "ScheduleFreeAdamW"} <= {name for name, _ in AVERAGES}


@pytest.mark.parametrize("beta", [0.0, 0.5, 0.999, 0.9999, 0.999999])
@pytest.mark.parametrize("count", [1, 2, 100, 1e6])
def test_bias_correction(beta, count):
    getcontext().prec = 40
    exact = float(1 - Decimal(repr(beta)) ** int(count))
    np.testing.assert_allclose(float(bias_correction(beta, np.float32(count))), exact, rtol=1e-6)
    if beta:  # what a Variable holds, as exactly as it holds it
        held = gx.Variable(np.float32(beta)).value
        exact = float(1 - Decimal(float(np.float32(beta))) ** int(count))
        np.testing.assert_allclose(float(bias_correction(held, np.float32(count))), exact, rtol=1e-5)


def rectified(t, beta_2):
    """The step of RAdam for gradients of 1 at a rate of 1, by the formula of its docstring, in 40 digits."""
    getcontext().prec = 40
    beta = Decimal(repr(beta_2))
    last = 2 / (1 - beta) - 1
    length = last - 2 * t * beta**t / (1 - beta**t)
    if length <= 5:
        return 1.0
    return float(((length - 4) * (length - 2) * last / ((last - 4) * (last - 2) * length)).sqrt())


@pytest.mark.parametrize("beta_2", [0.7, 0.9, 0.99, 0.999, 0.9999, 0.99999])
def test_radam_rectifies_by_its_formula(beta_2):
    optimizer, weight = RAdam(1.0, beta_2=beta_2), gx.Variable([0.0])
    steps = []
    for _ in range(60):
        before = float(weight.numpy()[0])
        optimizer.apply([[1.0]], [weight])
        steps.append(before - float(weight.numpy()[0]))
        weight.assign([0.0])
    np.testing.assert_allclose(steps, [rectified(t, beta_2) for t in range(1, 61)], rtol=1e-4)


META = [
    (name, argument, beta)
    for name, argument in AVERAGES
    for beta in ((0.7, 0.99) if KINDS[name].arguments[argument] is ABOVE_06 else (0.0, 0.7, 0.99))
    if (name, argument, beta) != ("Prodigy", "beta_2", 0.0)  # beta_3 is its root, which is too steep there
]


@pytest.mark.in_turn(6, broad=30)
@pytest.mark.parametrize(("name", "argument", "beta"), META)
def test_meta_gradients_with_respect_to_a_beta(name, argument, beta):
    """By differences, in float64; at 0, where the roots of some rules are steep, they are numbers."""
    with jax.enable_x64(True):
        held = gx.Variable(np.float64(0.9), trainable=False, name="beta")
        optimizer = KINDS[name](0.01, **{argument: held})
        weight = gx.Variable(np.linspace(1.0, 2.0, 6).reshape(3, 2), dtype="float64", name="w")
        start = optimizer.pure_state([weight])

        def loss(value):
            values, state = {"w": weight.value}, {**start, argument: value}
            for gradient in GRADIENTS.astype("float64"):
                values, state = optimizer.pure_update({"w": gradient}, state, values)
            return gx.ops.sum(values["w"] ** 2)

        found = float(gx.grad(loss)(np.float64(beta)))
        assert np.isfinite(found)
        if beta:
            ends = [float(loss(np.float64(beta + step))) for step in (1e-6, -1e-6)]
            np.testing.assert_allclose(found, (ends[0] - ends[1]) / 2e-6, rtol=1e-3, atol=1e-6)
