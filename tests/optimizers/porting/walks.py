"""The same many steps in float64 here, in Keras, in torch and in optax, to compare where they lead."""

import os

import jax
import numpy as np
import pytest

import graftax as gx

SHAPES = {"kernel": (4, 3), "bias": (3,), "scale": ()}
STEPS = 24


def start():
    rng = np.random.default_rng(0)
    return {name: rng.normal(size=shape) for name, shape in SHAPES.items()}


def gradients(steps=STEPS):
    """Large and tiny ones, so that an epsilon shows."""
    rng = np.random.default_rng(1)
    sizes = rng.choice([1e-7, 1e-4, 1e-2, 1.0, 30.0], size=(steps, 3))
    return [
        {name: rng.normal(size=shape) * size for (name, shape), size in zip(SHAPES.items(), row, strict=True)}
        for row in sizes
    ]


def here(optimizer, given=None, run=lambda f: f, names=tuple(SHAPES)):
    """Where ours leads; ``optimizer`` makes it."""
    with jax.enable_x64(True):
        made = optimizer()
        model = gx.Module()
        for name in names:
            setattr(model, name, gx.Variable(start()[name], dtype="float64"))
        step = run(lambda g: made.apply(g, {name: getattr(model, name) for name in names}))
        for g in given or gradients():
            step({name: g[name] for name in names})
        return {name: getattr(model, name).numpy() for name in names}


def in_keras(optimizer, given=None, names=tuple(SHAPES), finalize=False):
    """Where Keras's leads; ``optimizer`` makes it of the package."""
    os.environ.setdefault("KERAS_BACKEND", "jax")
    keras = pytest.importorskip("keras")
    before = keras.config.floatx()
    keras.config.set_floatx("float64")
    try:
        with jax.enable_x64(True):
            made = optimizer(keras)
            variables = [keras.Variable(start()[name], dtype="float64", name=name) for name in names]
            made.build(variables)
            for g in given or gradients():
                made.apply([keras.ops.convert_to_tensor(g[name], dtype="float64") for name in names], variables)
            if finalize:
                made.finalize_variable_values(variables)
            return {name: keras.ops.convert_to_numpy(v.value) for name, v in zip(names, variables, strict=True)}
    finally:
        keras.config.set_floatx(before)


def in_torch(optimizer, given=None, names=tuple(SHAPES), before_step=None, after_step=None):
    """Where torch's leads; ``optimizer`` makes it of the package and the parameters by name."""
    torch = pytest.importorskip("torch")
    parameters = {name: torch.nn.Parameter(torch.tensor(start()[name], dtype=torch.float64)) for name in names}
    made = optimizer(torch, parameters)
    for g in given or gradients():
        for name, parameter in parameters.items():
            parameter.grad = torch.tensor(g[name], dtype=torch.float64) if parameter.requires_grad else None
        if before_step is not None:
            before_step(torch, list(parameters.values()))
        made.step()
        if after_step is not None:
            after_step(torch, parameters)
    return {name: parameter.detach().numpy() for name, parameter in parameters.items()}


def in_optax(transformation, given=None, names=tuple(SHAPES)):
    """Where optax's leads; ``transformation`` makes it of the package."""
    optax = pytest.importorskip("optax")
    with jax.enable_x64(True):
        tx = transformation(optax)
        values = {name: jax.numpy.asarray(start()[name]) for name in names}
        state = tx.init(values)
        for g in given or gradients():
            updates, state = tx.update({name: jax.numpy.asarray(g[name]) for name in names}, state, values)
            values = optax.apply_updates(values, updates)
        return {name: np.asarray(value) for name, value in values.items()}


def same(ours, theirs, rtol=1e-9):
    assert set(ours) == set(theirs)
    for name, value in ours.items():
        np.testing.assert_allclose(value, theirs[name], rtol=rtol, atol=rtol / 100, err_msg=name)


def differs(ours, theirs):
    assert any(not np.allclose(value, theirs[name], rtol=1e-4) for name, value in ours.items())
