"""Python state that parts of a program's own change while they compute: a compiled step computes as plain Python."""

import logging
from types import SimpleNamespace

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops

X, Y = np.ones((6, 3), "float32"), np.ones((6, 2), "float32")


class Counts:
    """What counts how often it has been used, in one of several ways."""

    def begin(self, state):
        self.state = state
        self.held = {"number": 0, "list": [], "dict": {"n": 0}, "object": SimpleNamespace(n=0), "array": np.zeros(1)}[
            state
        ]

    def use(self):
        if self.state == "number":
            self.held += 1
            return float(self.held)
        if self.state == "list":
            self.held.append(1)
            return float(len(self.held))
        if self.state == "dict":
            self.held["n"] += 1
            return float(self.held["n"])
        if self.state == "object":
            self.held.n += 1
            return float(self.held.n)
        self.held += 1
        return float(self.held[0])


class Scale(Counts, gx.Layer):
    def __init__(self, state):
        super().__init__()
        self.begin(state)

    def call(self, x):
        return x * self.use()


class Total(Counts, gx.metrics.Metric):
    def __init__(self, state):
        super().__init__()
        self.total = gx.Variable(0.0, trainable=False, role="metric")
        self.begin(state)

    def update(self, y_true, y_pred, sample_weight=None):
        self.total.assign_add(self.use())

    def result(self):
        return self.total * 1.0

    def reset(self):
        self.total.assign(0.0)


class Growing(Counts, gx.losses.Loss):
    def __init__(self, state):
        super().__init__()
        self.begin(state)

    def call(self, y_true, y_pred):
        return ops.mean((y_true - y_pred) ** 2, axis=-1) * self.use()


class Penalty(Counts, gx.regularizers.BaseRegularizer):
    def __init__(self, state):
        self.begin(state)

    def __call__(self, value):
        return 0.01 * self.use() * ops.sum(value**2)


class Shrink(Counts, gx.constraints.BaseConstraint):
    def __init__(self, state):
        self.begin(state)

    def __call__(self, value):
        return value / (1.0 + 0.1 * self.use())


class Filled(Counts, gx.initializers.BaseInitializer):
    def __init__(self, state):
        self.begin(state)

    def __call__(self, key, shape, dtype="float32"):
        return ops.full(shape, 0.1 * self.use(), dtype)


class Rate(Counts, gx.optimizers.schedules.Schedule):
    def __init__(self, state):
        super().__init__()
        self.begin(state)

    def rate(self, step):
        return 0.01 * self.use() + 0.0 * step


class Called(Rate):
    def __call__(self, step):
        return 0.01 * self.use()


class Growth(Counts, gx.optimizers.SGD):
    def __init__(self, state):
        super().__init__(0.01)
        self.begin(state)

    def apply(self, gradients, variables):
        factor = self.use()
        return super().apply([one * factor for one in gradients], variables)


def model(*before, **settings):
    return gx.Sequential([*before, layers.Dense(2, **{"kernel_initializer": "ones", **settings})])


PARTS = {
    "layer": lambda state: (model(Scale(state)), {}),
    "activation": lambda state: (model(activation=Scale(state).call), {}),
    "metric": lambda state: (model(), {"metrics": [Total(state)]}),
    "loss": lambda state: (model(), {"loss": Growing(state)}),
    "regularizer": lambda state: (model(kernel_regularizer=Penalty(state)), {}),
    "constraint": lambda state: (model(kernel_constraint=Shrink(state)), {}),
    "initializer": lambda state: (model(kernel_initializer=Filled(state)), {}),
    "schedule": lambda state: (model(), {"optimizer": gx.optimizers.SGD(Rate(state))}),
    "schedule that is called": lambda state: (model(), {"optimizer": gx.optimizers.SGD(Called(state))}),
    "optimizer": lambda state: (model(), {"optimizer": Growth(state)}),
}
STATES = ("number", "list", "dict", "object", "array")


def fitted(part, state, run_eagerly):
    gx.set_random_seed(0)
    made, settings = PARTS[part](state)
    made.compile(**{"optimizer": gx.optimizers.SGD(0.01), "loss": "mse", **settings}, run_eagerly=run_eagerly)
    history = made.fit(X, Y, batch_size=1, verbose=0, shuffle=False).history
    return {**history, "weights": made.layers[-1].kernel.numpy()}


@pytest.mark.in_turn(10)
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("part", PARTS)
def test_a_compiled_fit_follows_the_state_and_says_that_it_compiles_anew(part, state, caplog):
    expected = fitted(part, state, run_eagerly=True)
    with caplog.at_level(logging.WARNING, logger="graftax"):
        found = fitted(part, state, run_eagerly=False)
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-4, err_msg=name)
    assert ("each call compiles anew" in caplog.text) == (part != "initializer")
