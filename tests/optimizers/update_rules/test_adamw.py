import numpy as np
import pytest

from graftax.optimizers import Adam, AdamW


def test_reference_numbers(three_steps):
    ours = three_steps(AdamW(0.1, weight_decay=0.1, epsilon=1e-8))
    np.testing.assert_allclose(ours, [0.71049, -1.86195, 0.26393], atol=6e-6)


def test_is_adam_with_a_decay_that_is_on(three_steps, walk):
    start, gradients = walk(0)
    assert AdamW().weight_decay == 0.004
    ours = three_steps(AdamW(0.1), start, gradients)
    np.testing.assert_array_equal(ours, three_steps(Adam(0.1, weight_decay=0.004), start, gradients))
    assert (ours != three_steps(Adam(0.1), start, gradients)).any()


def test_against_torch(three_steps, walk, against_torch):
    start, gradients = walk(1)
    theirs = against_torch("AdamW", start, gradients, lr=0.1, eps=1e-3, weight_decay=0.3)
    ours = three_steps(AdamW(0.1, 0.3, epsilon=1e-3, epsilon_form="torch"), start, gradients)
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_against_optax(three_steps, walk, against_optax):
    start, gradients = walk(2)
    theirs = against_optax(lambda optax: optax.adamw(0.1, eps=1e-2, weight_decay=0.3), start, gradients)
    ours = three_steps(AdamW(0.1, 0.3, epsilon=1e-2, epsilon_form="torch"), start, gradients)
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("clip", [{"clipvalue": 0.5}, {"clipnorm": 0.5}, {"global_clipnorm": 0.5}])
def test_against_keras(three_steps, walk, against_keras, clip):
    start, gradients = walk(3)
    theirs = against_keras("AdamW", start, gradients, learning_rate=0.1, weight_decay=0.3, epsilon=1e-2, **clip)
    ours = three_steps(AdamW(0.1, 0.3, epsilon=1e-2, **clip), start, gradients)
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)
