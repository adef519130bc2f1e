"""Functions that each device runs on its share: numbers, gradients, what they may not do; CrossShard inside of them."""

from typing import Any

import jax
import numpy as np
import pytest

import graftax as gx
from graftax import distribution as gd
from graftax import ops
from graftax.errors import ArgumentError, StateError

X = np.random.default_rng(0).normal(size=(16, 8)).astype("float32")
Y = np.random.default_rng(1).normal(size=(16, 1)).astype("float32")
ROWS = ("data", None)
KINDS = {
    "data": lambda: gd.DataParallel(),
    "sharded": lambda: gd.FullyShardedDataParallel(min_size=1, tolerance=1),
}


def made(distribution: gd.Distribution) -> gx.Model:
    gx.set_random_seed(0)
    with distribution.scope():
        model = gx.Sequential([gx.layers.Dense(8, activation="tanh"), gx.layers.Dense(1)])
    model.build((None, 8))
    return model


@pytest.mark.parametrize("kind", KINDS)
def test_values_and_gradients_are_those_of_the_whole(kind: str) -> None:
    distribution = KINDS[kind]()
    model = made(distribution)

    def loss(x: Any, y: Any) -> Any:
        return ops.mean(ops.square(model(x) - y))

    split = gx.shard_map(lambda x, y: jax.lax.pmean(loss(x, y), "data"), distribution, [ROWS, ROWS], ())
    wrt = model.trainable_variables
    value, found = gx.jit(lambda x, y: gx.value_and_grad(lambda: split(x, y), wrt=wrt)())(X, Y)
    whole, expected = gx.jit(lambda x, y: gx.value_and_grad(lambda: loss(x, y), wrt=wrt)())(X, Y)
    np.testing.assert_allclose(value, whole, rtol=1e-5)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_dt23_cross_shard_takes_the_mean_of_local_gradients(kind: str) -> None:
    distribution = KINDS[kind]()
    model = made(distribution)
    wrt = model.trainable_variables
    optimizer = gx.optimizers.CrossShard(gx.optimizers.SGD(0.5, momentum=0.9))
    start = optimizer.pure_state(model)

    def loss(x: Any, y: Any) -> Any:
        return ops.mean(ops.square(model(x) - y))

    def step(x: Any, y: Any) -> Any:
        values = {v.path: v.value for v in wrt}
        gradients = dict(zip(values, gx.grad(lambda: loss(x, y), wrt=wrt)(), strict=True))
        values, _ = optimizer.pure_update(gradients, start, values)
        return {path: jax.lax.pmean(value, "data") for path, value in values.items()}

    found = gx.jit(gx.shard_map(step, distribution, [ROWS, ROWS], ()))(X, Y)
    gradients = gx.grad(lambda: loss(X, Y), wrt=wrt)()
    for variable, gradient in zip(wrt, gradients, strict=True):
        expected = variable.numpy() - 0.5 * np.asarray(gradient)
        np.testing.assert_allclose(found[variable.path], expected, atol=1e-6)


def test_dt23_cross_shard_is_the_optimizer_inside_elsewhere() -> None:
    weights = []
    for wrap in (lambda one: one, gx.optimizers.CrossShard):
        model = made(gd.DataParallel())
        model.compile(wrap(gx.optimizers.Adam(0.01)), "mse")
        model.fit(X, Y, batch_size=8, epochs=2, verbose=0)
        weights.append([v.numpy() for v in model.trainable_variables])
    for one, other in zip(*weights, strict=True):
        np.testing.assert_array_equal(one, other)


def test_several_results_with_axes_each() -> None:
    mesh = gd.mesh(data=4, model=2)

    def parts(x: Any) -> Any:
        return x * 2, jax.lax.psum(ops.sum(x), ("data", "model"))

    double, total = gx.jit(gx.shard_map(parts, mesh, [("data", "model")], [("data", "model"), ()]))(X)
    np.testing.assert_allclose(double, 2 * X)
    np.testing.assert_allclose(total, X.sum(), rtol=1e-5)


def test_assignments_are_refused_and_change_nothing() -> None:
    distribution = gd.DataParallel()
    model = made(distribution)
    kernel = model.layers[0].kernel
    before = kernel.numpy()

    def add(x: Any) -> Any:
        return kernel.assign_add(1.0).value

    with pytest.raises(StateError, match=r"(?s)'layers/0/kernel' is assigned in .*add, which shard_map runs on each"):
        gx.jit(gx.shard_map(add, distribution, [ROWS], ()))(X)
    np.testing.assert_array_equal(kernel.numpy(), before)


@pytest.mark.parametrize(
    ("in_axes", "out_axes", "arguments", "message"),
    [
        ([("dat", None)], (), (X,), "the mesh has the axes data"),
        ([ROWS], (), (X[:3],), "is not divisible by 8"),
        ([ROWS], (), (X, X), "got 2 arguments, with in_axes for 1"),
        ([ROWS], [ROWS, ROWS], (X,), "out_axes for 2 arrays, of which it returns 1"),
        ("data", (), (X,), "axes for each argument, in a list"),
    ],
)
def test_what_is_refused(in_axes: Any, out_axes: Any, arguments: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        gx.jit(gx.shard_map(lambda x: x, gd.DataParallel(), in_axes, out_axes))(*arguments)
