import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graftax.core.errors import ArgumentError
from graftax.optimizers import Adam


def reference(w, gradients, rate, beta_1, beta_2, epsilon, amsgrad, form):
    """float64, with the averages written as sums over all gradients."""
    largest = np.zeros_like(w)
    for t in range(1, len(gradients) + 1):
        m = sum((1 - beta_1) * beta_1 ** (t - 1 - i) * g for i, g in enumerate(gradients[:t]))
        v = sum((1 - beta_2) * beta_2 ** (t - 1 - i) * g**2 for i, g in enumerate(gradients[:t]))
        largest = np.maximum(largest, v)
        v = largest if amsgrad else v
        m_hat = m / (1 - beta_1**t)
        if form == "torch":
            w = w - rate * m_hat / (np.sqrt(v / (1 - beta_2**t)) + epsilon)
        else:
            w = w - rate * m_hat * np.sqrt(1 - beta_2**t) / (np.sqrt(v) + epsilon)
    return w


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"epsilon": 1e-2}, [0.8946249, -1.9772859, 0.3875315]),
        ({"epsilon": 1e-2, "epsilon_form": "torch"}, [0.7539802, -1.9237807, 0.2850454]),
        ({"epsilon": 1e-8, "amsgrad": True}, [0.73731, -1.91910, 0.27625]),
        ({"epsilon": 1e-8, "amsgrad": True, "epsilon_form": "torch"}, [0.73731, -1.91910, 0.27625]),
    ],
    ids=["keras", "torch", "amsgrad", "amsgrad_torch"],
)
def test_reference_numbers(three_steps, options, expected):
    np.testing.assert_allclose(three_steps(Adam(0.1, **options)), expected, atol=6e-6)


@pytest.mark.broad
@given(
    seed=st.integers(0, 2**32 - 1),
    beta_1=st.sampled_from([0.0, 0.5, 0.9]),
    beta_2=st.sampled_from([0.5, 0.99, 0.999]),
    epsilon=st.sampled_from([1e-7, 1e-3, 0.1]),
    amsgrad=st.booleans(),
    form=st.sampled_from(["keras", "torch"]),
)
def test_against_a_transcription(three_steps, walk, seed, beta_1, beta_2, epsilon, amsgrad, form):
    start, gradients = walk(seed)
    arguments = 0.03, beta_1, beta_2, epsilon, amsgrad, form
    ours = three_steps(Adam(*arguments), start, gradients)
    np.testing.assert_allclose(ours, reference(start, gradients, *arguments), rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("amsgrad", [False, True])
def test_against_torch(three_steps, walk, against_torch, amsgrad):
    start, gradients = walk(1)
    theirs = against_torch("Adam", start, gradients, lr=0.1, eps=1e-3, amsgrad=amsgrad, weight_decay=0.1)
    ours = three_steps(Adam(0.1, epsilon=1e-3, amsgrad=amsgrad, epsilon_form="torch", l2=0.1), start, gradients)
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_against_optax(three_steps, walk, against_optax):
    start, gradients = walk(2)
    theirs = against_optax(lambda optax: optax.adam(0.1, eps=1e-2), start, gradients)
    ours = three_steps(Adam(0.1, epsilon=1e-2, epsilon_form="torch"), start, gradients)
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("amsgrad", [False, True])
def test_against_keras(three_steps, walk, against_keras, amsgrad):
    start, gradients = walk(3)
    theirs = against_keras("Adam", start, gradients, learning_rate=0.1, epsilon=1e-2, amsgrad=amsgrad)
    ours = three_steps(Adam(0.1, epsilon=1e-2, amsgrad=amsgrad), start, gradients)
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("arguments", [{"beta_1": 1.0}, {"beta_2": -0.5}, {"epsilon_form": "tensorflow"}])
def test_arguments_that_cannot_be(arguments):
    with pytest.raises(ArgumentError, match=next(iter(arguments))):
        Adam(0.1, **arguments)
