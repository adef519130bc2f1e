"""offload: the same numbers, gradients and assignments, computed on another device."""

from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax import distribution as gd
from graftax import ops
from graftax.errors import ArgumentError, ArgumentTypeError, CompileError

X = np.random.default_rng(0).normal(size=(16, 8)).astype("float32")


def made() -> tuple[gx.Model, Any, Any]:
    gx.set_random_seed(0)
    model = gx.Sequential([gx.layers.Dense(8, activation="tanh"), gx.layers.BatchNormalization(), gx.layers.Dense(1)])
    model.build((None, 8))
    head, norm, tail = model.layers

    def middle(h: Any) -> Any:
        return norm(head(h), training=True)

    return model, middle, lambda part: ops.mean(ops.square(tail(part(X)) - 1))


def devices(array: Any) -> set[str]:
    return {f"{device.platform}:{device.id}" for device in array.devices()}


def test_values_gradients_and_assignments_are_the_same() -> None:
    results = []
    for wrap in (lambda part: part, lambda part: gx.offload(part, "CPU:2")):
        model, middle, loss = made()
        part = wrap(middle)
        value, gradients = gx.value_and_grad(lambda: loss(part), wrt=model.trainable_variables)()  # noqa: B023
        with gx.GradientTape() as tape:
            again = loss(part)
        taped = tape.gradient(again, model.trainable_variables)
        results.append([value, *gradients, *taped, *(v.numpy() for v in model.variables)])
        assert all(devices(one) == {"cpu:0"} for one in [value, *gradients, *(v.value for v in model.variables)])
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


def test_it_runs_there() -> None:
    seen: list[set[str]] = []

    def look(x: Any) -> Any:
        seen.append(devices(x))
        return ops.exp(x)

    with gx.run_eagerly():
        result = gx.offload(look, "cpu:3")(gx.ops.asarray(X))
    assert seen == [{"cpu:3"}]
    assert devices(result) == {"cpu:0"}


def test_an_own_loop_trains_through_it_and_compiles_once() -> None:
    losses = []
    for wrap in (lambda part: part, lambda part: gx.offload(part, "cpu:1")):
        model, middle, loss = made()
        part, optimizer = wrap(middle), gx.optimizers.Adam(0.05)
        losses.append([float(optimizer.minimize(lambda: loss(part), model.trainable_variables)) for _ in range(4)])  # noqa: B023
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-5)
    assert losses[0][-1] < losses[0][0]


def test_what_is_refused() -> None:
    model, middle, _ = made()
    part = gx.offload(middle, "cpu:1")
    with pytest.raises(
        CompileError,
        match=r"(?s)inside a function that is being compiled.*where values change the kind of memory",
    ):
        gx.jit(lambda x: part(x))(X)
    with pytest.raises(ArgumentError, match="no such device"):
        gx.offload(middle, "abacus:0")
    with pytest.raises(ArgumentTypeError, match="called by its name"):
        gx.offload(middle, 3)  # type: ignore[arg-type]
    gd.DataParallel().place(model)
    with pytest.raises(ArgumentError, match="over the mesh {'data': 8}"):
        part(X)
