import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graftax as gx
from graftax.core.errors import ArgumentError
from graftax.optimizers import SGD, schedules


def reference(w, gradients, rate, momentum, nesterov):
    """float64, from the formulas of the docstring."""
    m = np.zeros_like(w)
    for g in gradients:
        m = momentum * m - rate * g
        w = w + (momentum * m - rate * g if nesterov else m)
    return w


@pytest.mark.parametrize(
    ("optimizer", "expected"),
    [
        (lambda: SGD(0.1), [0.96, -2.03, 0.455]),
        (lambda: SGD(0.1, momentum=0.9), [0.9159, -2.0048, 0.4082]),
        (lambda: SGD(0.1, momentum=0.9, nesterov=True), [0.88431, -2.03432, 0.37238]),
        (lambda: SGD(0.1, weight_decay=0.1), [0.930798, -1.970896, 0.440696]),
        (lambda: SGD(0.1, momentum=0.9, weight_decay=0.1), [0.88679, -1.94588, 0.39417]),
        (lambda: SGD(0.1, momentum=0.9, l2=0.1), [0.86096, -1.89422, 0.38148]),
        (lambda: SGD(0.1, clipnorm=0.2), [0.97591, -2.01345, 0.47814]),
        (lambda: SGD(schedules.InverseTimeDecay(0.1, 1, 0.5)), [0.97, -2.00667, 0.46333]),
    ],
    ids=["plain", "momentum", "nesterov", "decay", "decoupled", "l2", "clipnorm", "inverse_time"],
)
def test_reference_numbers(three_steps, optimizer, expected):
    np.testing.assert_allclose(three_steps(optimizer()), expected, atol=6e-6)


@pytest.mark.broad
@given(seed=st.integers(0, 2**32 - 1), momentum=st.sampled_from([0.0, 0.5, 0.9]), nesterov=st.booleans())
def test_against_a_transcription(three_steps, walk, seed, momentum, nesterov):
    start, gradients = walk(seed)
    nesterov = nesterov and momentum > 0
    ours = three_steps(SGD(0.03, momentum, nesterov), start, gradients)
    np.testing.assert_allclose(ours, reference(start, gradients, 0.03, momentum, nesterov), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("nesterov", [False, True])
def test_against_torch(three_steps, walk, against_torch, nesterov):
    start, gradients = walk(1)
    theirs = against_torch("SGD", start, gradients, lr=0.1, momentum=0.9, nesterov=nesterov, weight_decay=0.01)
    ours = three_steps(SGD(0.1, 0.9, nesterov, l2=0.01), start, gradients)
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("nesterov", [False, True])
def test_against_keras(three_steps, walk, against_keras, nesterov):
    start, gradients = walk(2)
    options = {"momentum": 0.9, "nesterov": nesterov, "weight_decay": 0.1, "clipnorm": 2.0}
    theirs = against_keras("SGD", start, gradients, learning_rate=0.1, **options)
    np.testing.assert_allclose(three_steps(SGD(0.1, **options), start, gradients), theirs, rtol=1e-5, atol=1e-6)


def test_a_new_rate_leaves_the_momentum_as_it_is():
    # Keras: the rate of each step stays in its part of the momentum; torch would scale all of it anew
    w = gx.Variable([0.0])
    optimizer = SGD(1.0, momentum=0.5)
    optimizer.apply([[1.0]], [w])
    optimizer.learning_rate = 0.0
    optimizer.apply([[1.0]], [w])
    assert w.numpy().tolist() == [-1.5]


def test_no_momentum_keeps_no_slot_and_turning_it_on_later_makes_one():
    w = gx.Variable([1.0])
    optimizer = SGD(0.5)
    optimizer.apply([[1.0]], [w])
    assert list(optimizer.slots()) == []
    optimizer.momentum = 0.5
    optimizer.apply([[1.0]], [w])
    assert [record.name for record in optimizer.slots()] == ["momentum"]
    assert w.numpy().tolist() == [0.0]


@pytest.mark.parametrize("arguments", [{"momentum": 1.0}, {"momentum": -0.1}, {"nesterov": True}])
def test_arguments_that_cannot_be(arguments):
    with pytest.raises(ArgumentError, match="SGD: momentum="):
        SGD(0.1, **arguments)
