"""Several batches of an evaluation in one run: as many as was said, or by itself once there have been very many."""

import copy
import os
from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core.errors import IndexRangeError
from graftax.distribution.distribution import Distribution
from graftax.training.executions import TEST_STEPS

X = np.sin(np.arange(37 * 3, dtype="float32")).reshape(37, 3)
Y = X[:, :1] - X[:, 1:2]
ONE_BY_ONE: dict[str, Any] = {}
EIGHT: dict[str, Any] = {"steps_per_execution": 8}
SIXTEEN: dict[str, Any] = {"steps_per_execution": 16}
WEIGHTS = np.linspace(0, 1, 37, dtype="float32")


class Hooks(gx.callbacks.Callback):
    def __init__(self) -> None:
        self.seen: list[tuple[str, int]] = []

    def on_test_batch_begin(self, batch: int, logs: Any = None) -> None:
        self.seen.append(("begin", batch))

    def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
        self.seen.append(("end", batch))


def net(kind: type[gx.Sequential] = gx.Sequential, width: int = 4, **options: Any) -> gx.Sequential:
    gx.set_random_seed(0)
    model = kind(
        [layers.Dense(width, activation="tanh"), layers.BatchNormalization(), layers.Dropout(0.2), layers.Dense(1)]
    )
    model.build_for(X)
    model.compile("adam", "mse", ["mse", "mae"], ["mape"], **options)
    return model


def evaluate(model: gx.Model, **options: Any) -> dict[str, float]:
    return model.evaluate(X, Y, batch_size=2, sample_weight=WEIGHTS, verbose=0, **options)


def runs_together(model: gx.Model) -> bool:
    return TEST_STEPS in (model._gx_functions or ())


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let ten batches be many, and let no other test have made a distribution."""
    monkeypatch.setattr("graftax.training.evaluated_together._MANY", 10)
    monkeypatch.setattr(Distribution, "any_made", False)


@pytest.mark.optimized
def test_so_many_batches_as_was_said_give_the_same_bits() -> None:
    hooks, many = Hooks(), net(steps_per_execution=8)
    expected = evaluate(net())
    found = evaluate(many, callbacks=[hooks])
    assert found == expected
    assert [*found] == [*expected]
    ends = [number for what, number in hooks.seen if what == "end"]
    assert ends == [7, 15, 16, 17, 18]  # two full runs, then one by one
    assert runs_together(many)


@pytest.mark.slow
def test_the_validation_of_a_fit_takes_several_too() -> None:
    expected, found = (
        net(**options).fit(X, Y, validation_data=(X, Y), validation_batch_size=2, verbose=0).history
        for options in (ONE_BY_ONE, EIGHT)
    )
    assert [*found] == [*expected]
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-5)


@pytest.mark.slow
def test_batches_of_an_iterable_are_put_together() -> None:
    batches = [(X[i : i + 2], Y[i : i + 2]) for i in range(0, 36, 2)]
    assert net(steps_per_execution=8).evaluate(batches, verbose=0) == net().evaluate(batches, verbose=0)


@pytest.mark.usefixtures("soon")
def test_after_very_many_batches_several_go_together_and_nobody_notices() -> None:
    model = net()
    found = [evaluate(model)]
    assert not runs_together(model)
    found += [evaluate(model) for _ in range(2)]
    assert runs_together(model)
    assert found[1:] == found[:1] * 2
    model.layers[0].kernel.assign(model.layers[0].kernel * 0.5)
    later, other = evaluate(model), net()
    other.layers[0].kernel.assign(model.layers[0].kernel)
    assert later == evaluate(other)


class OwnStep(gx.Sequential):
    def test_step(self, batch: Any) -> Any:
        return super().test_step(batch)


@pytest.mark.slow
@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("why", ["eager", "own step", "large", "watched", "few", "compiled anew", "a copy"])
def test_they_go_one_by_one(why: str) -> None:
    kind = OwnStep if why == "own step" else gx.Sequential
    model = net(kind, 20_000 if why == "large" else 4, run_eagerly=why == "eager")
    before = evaluate(model)
    if why == "compiled anew":
        model.compile("adam", "mse", ["mse", "mae"], ["mape"])
    elif why == "a copy":
        evaluate(model)
        model = copy.deepcopy(model)
    elif why == "few":
        assert model.evaluate(X[:8], Y[:8], batch_size=2, verbose=0)
        assert not runs_together(model)
        return
    assert evaluate(model, callbacks=[Hooks()] if why == "watched" else None) == before
    assert not runs_together(model)


class Untraceable(layers.Layer):
    """Cannot be a part of a loop: remembers what it saw, and changes its mind."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def call(self, x: Any) -> Any:
        if registry_says_loop():
            raise RuntimeError("not in a loop")
        return x


def registry_says_loop() -> bool:
    return _LOOP in os.environ  # of which no compiled step is told, as of a global


_LOOP = "GRAFTAX_TEST_IN_A_LOOP"


@pytest.mark.slow
@pytest.mark.usefixtures("soon")
def test_what_cannot_be_traced_as_a_loop_goes_on_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    model = gx.Sequential([Untraceable(), layers.Dense(1)])
    model.compile(None, "mse")
    before = evaluate(model)
    with monkeypatch.context() as patch:
        patch.setenv(_LOOP, "1")
        assert [evaluate(model) for _ in range(2)] == [before] * 2
    assert not runs_together(model)


@pytest.mark.slow
@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("shift", [0, 2], ids=["as given", "computed"])
def test_indices_out_of_range_are_told_all_the_same(shift: int) -> None:
    class Look(gx.Model):
        def __init__(self) -> None:
            super().__init__()
            self.table = layers.Embedding(8, 1)

        def call(self, x: Any) -> Any:
            return self.table(x + shift if shift else x)[:, 0]

    good = np.arange(64, dtype="int32")[:, None] % 6
    bad = good.copy()
    bad[37] = 9
    target = np.ones((64, 1), "float32")
    for options in (ONE_BY_ONE, SIXTEEN):
        model = Look()
        model.compile(None, "mse", **options)
        expected = model.evaluate(good, target, batch_size=2, verbose=0)
        assert model.evaluate(good, target, batch_size=2, verbose=0) == expected
        assert runs_together(model)
        with pytest.raises(IndexRangeError, match=str(9 + shift)):
            model.evaluate(bad, target, batch_size=2, verbose=0)
        assert model.evaluate(good, target, batch_size=2, verbose=0) == expected


@pytest.mark.slow
@pytest.mark.usefixtures("soon")
def test_random_numbers_of_evaluations_go_on_as_one_by_one() -> None:
    class Noisy(gx.Model):
        def __init__(self) -> None:
            super().__init__()
            self.noise = layers.GaussianNoise(0.5)

        def call(self, x: Any) -> Any:
            return ops.sum(self.noise(x, training=True), axis=1, keepdims=True)

    found = []
    for options in (ONE_BY_ONE, EIGHT):
        gx.set_random_seed(1)
        model = Noisy()
        model.compile(None, "mse", **options)
        found.append([evaluate(model) for _ in range(3)])
    assert found[0] == found[1]
