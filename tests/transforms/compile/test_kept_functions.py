"""Functions with values of a trace: what keeps one is named, and nothing is said of those that are used and dropped."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops

X, Y = np.ones((4, 2), "float32"), np.ones((4, 1), "float32")


class Part(gx.Model):
    def __init__(self) -> None:
        super().__init__()
        self.dense, self.kept = layers.Dense(1), None

    def call(self, x: Any) -> Any:
        return self.dense(x)


class Gradient(Part):
    def call(self, x: Any) -> Any:
        def energy(p: Any) -> Any:
            return ops.sum(self.dense(p * x))

        return ops.sum(gx.jit(gx.grad(energy))(x), axis=1, keepdims=True)


class Box(gx.Module):
    def __init__(self, content: Any) -> None:
        super().__init__()
        self.content = content


class Dropped(Part):
    def call(self, x: Any) -> Any:
        box = Box(x)
        return self.dense(gx.jit(lambda: box.content * 2)())


class InACircle(Part):
    def call(self, x: Any) -> Any:
        box = Box(x)
        box.of = lambda: box  # which only the collector of Python sees to be gone
        return self.dense(gx.jit(lambda: box.content * 2)())


class ForAWhile(Part):
    def call(self, x: Any) -> Any:
        self.kept = lambda: x
        y = self.dense(self.kept())
        self.kept = None
        return y


class Lambda(Part):
    def call(self, x: Any) -> Any:
        self.kept = lambda p: p * x
        return self.dense(x)


class Default(Part):
    def call(self, x: Any) -> Any:
        self.kept = lambda p, x=x: p * x
        return self.dense(x)


class Partial(Part):
    def call(self, x: Any) -> Any:
        self.kept = partial(ops.multiply, y=x)
        return self.dense(x)


class Compiled(Part):
    def call(self, x: Any) -> Any:
        self.kept = gx.jit(lambda p: self.dense(p * x))
        return self.kept(x)


class Method(Part):
    def call(self, x: Any) -> Any:
        def kept(self: Any) -> Any:
            return x

        self.kept = kept.__get__(self)
        return self.dense(x)


def warnings_of(kind: type[Part], how: str) -> list[str]:
    model = kind()
    model(X)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        if how == "fit":
            model.compile("sgd", "mse")
            model.fit(X, Y, batch_size=2, epochs=2, verbose=0)
        else:
            step = gx.jit(lambda x: model(x))
            for rows in (4, 4, 2):
                step(X[:rows])
    return [str(one.message) for one in told]


both = pytest.mark.parametrize("how", ["fit", "jit"])


@both
@pytest.mark.parametrize("kind", [Gradient, Dropped, InACircle, ForAWhile])
def test_what_is_used_and_dropped_inside_of_a_call_is_no_leak(kind: type[Part], how: str) -> None:
    assert warnings_of(kind, how) == []


@both
@pytest.mark.parametrize(
    ("kind", "variable"),
    [(Lambda, "x"), (Default, "x"), (Partial, "y"), (Compiled, "x"), (Method, "x")],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_the_attribute_that_keeps_a_function_is_named_once(kind: type[Part], variable: str, how: str) -> None:
    (told,) = warnings_of(kind, how)
    title = told.partition(" keeps a function with a traced value of ")[0]
    assert title.endswith(".kept")
    assert f", {variable!r}: it has no numbers" in told
    assert f"Give the function {variable} as an argument" in told
    assert "self.kept = None" in told


class Tasks(gx.optimizers.SGD):
    tasks: Any = None


def test_a_closure_on_an_optimizer_is_told_by_its_attribute_and_the_step_by_its_name(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Own(Part):
        def train_step(self, batch: Any) -> Any:
            x, y = batch

            def loss() -> Any:
                return ops.mean((self(x) - y) ** 2)

            self.optimizer.tasks = loss
            return {"loss": self.optimizer.minimize(loss, self.trainable_variables)}

    model = Own()
    model.compile(Tasks(0.1))
    name = Own.train_step.__qualname__
    with caplog.at_level("INFO", "graftax"), warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model.fit(X, Y, batch_size=1, epochs=2, verbose=0)
    (one,) = [str(found.message) for found in told]
    assert one.startswith(f"Tasks.tasks keeps a function with a traced value of {name}, 'x'")
    traced = [line for line in caplog.messages if "traced" in line]
    assert any("was traced 5 times" in line for line in traced)
    assert all(line.startswith(f"graftax.jit: {name} ") for line in traced)


def test_a_value_in_a_variable_of_the_function_itself_is_still_told() -> None:
    last: Any = None

    @gx.jit
    def step(x: Any) -> Any:
        nonlocal last
        last = x if last is None else x * 2
        return x

    with pytest.warns(UserWarning, match=r"step\.last keeps a traced value of .*step: it has no numbers"):
        step(X)
