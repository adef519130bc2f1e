"""Mistakes of a first program of one's own: what came, why it cannot be, the line to write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.errors import GraftaxError

X = np.ones((4, 3), "float32")


class NoShape(gx.Layer):
    def build(self):  # type: ignore[override]
        self.w = self.add_weight((3, 2), name="w")

    def call(self, x):
        return x @ self.w


class Forward(gx.Layer):
    def forward(self, x):
        return x


class Asking(gx.Layer):
    def call(self, x):
        return x * 2 if self.training else x


class Adding(gx.Layer):
    def build(self, input_shape):
        self.w = self.add_variable("w", (3, 2))

    def call(self, x):
        return x @ self.w


class Unpacked(gx.Model):
    def call(self, x):
        return x

    def train_step(self, x, y):  # type: ignore[override]
        return {}


class Hasty(gx.Reparam):
    def __init__(self, next_creator, spec):
        self.base = next_creator(spec)

    def forward(self):
        return self.base


class Short(gx.Reparam):
    def __init__(self, next_creator, spec):
        super().__init__(spec)
        self.base = next_creator(spec.replace(name="base"))

    def forward(self):
        return self.base[:1]


class Twice(Short):
    def forward(self):
        return self.base * 2


class Assigning(gx.Optimizer):
    def update(self, gradient, variable, slots, step):
        variable.assign_sub(gradient)
        return variable, {}


class Arrays(gx.Optimizer):
    def create_slots(self, variable):
        return {"m": ops.zeros(variable.shape)}

    def update(self, gradient, variable, slots, step):
        return variable, {}


class Hurried(gx.Optimizer):
    def __init__(self, learning_rate):
        self.rate = learning_rate

    def update(self, gradient, variable, slots, step):
        return variable, {}


def built() -> gx.Sequential:
    model = gx.Sequential([layers.Dense(2)])
    model(X)
    return model


def fitted() -> None:
    model = Unpacked()
    model.compile("sgd", "mse")
    model.fit(X, X, verbose=0)


def misspelt_state() -> None:
    model = built()
    gx.functional_call(model, {**gx.state(model), "layers/0/kernl": X}, X)


def moved(optimizer: gx.Optimizer, jit: bool = False) -> Any:
    w = gx.Variable([1.0, 2.0], name="w")
    run = lambda: optimizer.apply([[1.0, 1.0]], [w])  # noqa: E731
    return gx.jit(run)() if jit else run()


def minimized(optimizer: Any) -> None:
    w = gx.Variable([1.0, 2.0], trainable=False, name="w")
    optimizer.minimize(lambda: ops.sum(w), [w])


SGD = gx.optimizers.SGD


@pytest.mark.parametrize(
    ("program", "parts"),
    [
        (lambda: NoShape()(X), ["NoShape.build(self)", "def build(self, input_shape)"]),
        (lambda: Forward()(X), ["forward()", "def call(self, ...) in place of def forward"]),
        (lambda: Asking()(X), ["'training'", "def call(self, x, training=False)"]),
        (lambda: Adding()(X), ["'add_variable'", "self.add_weight("]),
        (fitted, ["train_step(x, y)", "def train_step(self, batch)"]),
        (lambda: gx.graft(built(), Hasty, where="**/kernel"), ["Hasty", "super().__init__(spec)"]),
        (lambda: gx.graft(built(), Short, where="**/kernel"), ["Short.forward of 'layers/0/kernel'"]),
        (lambda: gx.graft(built(), Twice, where="**/kernel"), ["assignment to 'layers/0/kernel'"]),
        (lambda: gx.ungraft(built()), ["nothing is grafted in Sequential"]),
        (lambda: moved(Assigning(0.1)), ["assign_sub", "return value - step.learning_rate * gradient"]),
        (lambda: moved(Assigning(0.1), jit=True), ["assign_sub", "return value - step.learning_rate * gradient"]),
        (lambda: moved(Arrays(0.1)), ["create_slots", '{"m": graftax.Slot()}']),
        (lambda: moved(Hurried(0.1)), ["__init__ has not called", "super().__init__(learning_rate)"]),
        (lambda: gx.jit(lambda x: f"{ops.mean(x):.3f}")(X), ["{x:.3f}", "format what the call gives back"]),
        (lambda: 1 if gx.Variable([1.0, 2.0]) else 0, ["the truth of Variable", "ops.any(w > 0)"]),
        (lambda: minimized(SGD(0.1)), ["got w", "frozen", "trainable = True"]),
        (lambda: minimized(gx.optimizers.SAM(SGD(0.1))), ["got w", "frozen", "trainable = True"]),
        (lambda: minimized(gx.optimizers.LBFGS()), ["got w", "frozen", "trainable = True"]),
        (lambda: gx.optimizers.Lookahead(SGD(0.1), k=5), ["every=5"]),
        (lambda: gx.optimizers.Lookahead(SGD(0.1), global_clipnorm=1.0), ["inside", "global_clipnorm=..."]),
        (lambda: gx.optimizers.Lookahead(SGD(0.1), learning_rate=0.1), ["inside", "learning_rate=..."]),
        (misspelt_state, ["'layers/0/kernel' in place of 'layers/0/kernl'"]),
        (
            lambda: SGD(0.1).apply([np.ones(2, "complex64")], [gx.Variable(np.ones(2, "complex64"))]),
            ["two real Variables", "ops.view_as_complex"],
        ),
        (lambda: gx.hvp, ["graftax.jvp(graftax.grad(fn)"]),
        (lambda: built().register_forward_hook, ["a part of a graph", "a layer around", "lambda y"]),
        (lambda: built().half(), ['dtype="float16"']),
        (lambda: built().float(), ['dtype="float32"']),
        (lambda: built().double(), ['dtype="float64"']),
        (lambda: gx.find_nan(lambda: gx.jit(ops.exp, checked=True)(X)), ["find_nan(step, batch)"]),
    ],
    ids=lambda one: "-".join(part.split()[0].strip("'(),") for part in one[:1]) if isinstance(one, list) else "",
)
def test_the_message_names_what_came_and_the_line_to_write(program: Callable[[], Any], parts: list[str]) -> None:
    with pytest.raises(GraftaxError) as caught:
        program()
    assert all(part in str(caught.value) for part in parts), str(caught.value)


def test_a_save_names_the_plain_attributes_of_ones_own_optimizer_alone(tmp_path) -> None:
    class Noting(gx.Optimizer):
        def __init__(self, learning_rate: float = 0.1) -> None:
            super().__init__(learning_rate)
            self.seen = [1]

        def update(self, gradient, variable, slots, step):
            return variable, {}

    report = str(gx.Checkpoint(o=Noting()).save(tmp_path / "c"))
    assert "1 plain attribute, o/seen" in report


@pytest.mark.broad
def test_adapters_merge_into_int8_as_near_as_its_creator_states() -> None:
    model = built()
    gx.graft(model, gx.reparam.Int8(), where="**/kernel")
    gx.graft(model, gx.reparam.LoRA(rank=1, name="a"), where="**/kernel")
    draws = np.random.default_rng(0)
    for v in model.trainable_variables:
        v.assign(draws.normal(size=v.shape).astype("float32"))
    gx.adapters.merge(model, "a")
    assert not [v.path for v in model.variables if "adapters" in v.path]
    with pytest.raises(GraftaxError, match="adapter"):
        gx.adapters.merge(model, "a")
