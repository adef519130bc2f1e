"""The three steps of the reference numbers, and random sequences of gradients."""

import numpy as np
import pytest

import graftax as gx

W0 = [1.0, -2.0, 0.5]
GRADIENTS = ([0.1, -0.2, 0.3], [0.3, 0.1, -0.05], [0.0, 0.4, 0.2])


def follow(optimizer, start=W0, gradients=GRADIENTS):
    """Where the optimizer brings a variable, as NumPy."""
    w = gx.Variable(np.asarray(start, "float32"), name="w")
    for gradient in gradients:
        optimizer.apply([np.asarray(gradient, "float32")], [w])
    return w.numpy()


@pytest.fixture(scope="session")
def three_steps():
    return follow


@pytest.fixture(scope="session")
def walk():
    """Random starts and gradients for a seed, float64."""

    def make(seed, steps=6, shape=(3, 2)):
        rng = np.random.default_rng(seed)
        return rng.normal(size=shape), [rng.normal(size=shape) * rng.choice([0.01, 1, 30]) for _ in range(steps)]

    return make


@pytest.fixture(scope="session")
def against_torch():
    """The same steps in torch: ``against_torch("Adam", start, gradients, lr=0.1)``."""
    torch = pytest.importorskip("torch")

    def run(name, start=W0, gradients=GRADIENTS, **options):
        w = torch.tensor(np.asarray(start, "float32"), requires_grad=True)
        optimizer = getattr(torch.optim, name)([w], **options)
        for gradient in gradients:
            w.grad = torch.tensor(np.asarray(gradient, "float32"))
            optimizer.step()
        return w.detach().numpy()

    return run


@pytest.fixture(scope="session")
def against_optax():
    """The same steps in optax: ``against_optax(optax.adam(0.1), start, gradients)``."""
    optax = pytest.importorskip("optax")

    def run(make, start=W0, gradients=GRADIENTS):
        transformation = make(optax)
        w = np.asarray(start, "float32")
        state = transformation.init(w)
        for gradient in gradients:
            updates, state = transformation.update(np.asarray(gradient, "float32"), state, w)
            w = optax.apply_updates(w, updates)
        return np.asarray(w)

    return run


@pytest.fixture(scope="session")
def against_keras():
    """The same steps in Keras: ``against_keras("Adam", start, gradients, learning_rate=0.1)``."""
    import os

    os.environ.setdefault("KERAS_BACKEND", "jax")
    keras = pytest.importorskip("keras")

    def run(name, start=W0, gradients=GRADIENTS, **options):
        w = keras.Variable(np.asarray(start, "float32"), name="w")
        optimizer = getattr(keras.optimizers, name)(**options)
        for gradient in gradients:
            optimizer.apply([np.asarray(gradient, "float32")], [w])
        return np.asarray(w.value)

    return run
