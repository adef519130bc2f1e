"""A backend that has some abilities and lacks others: what needs none of those works, the rest tells which."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.backend import registry
from graftax.backend.base import GROUPS, BackendBase
from graftax.core.errors import BackendCapabilityError

SERVICES = ("arrays", "random", "devices")
DERIVES = (*SERVICES, "tracing", "gradients", "vectorizing")


class Part(BackendBase):
    """Some groups of JAX, under a name of its own."""

    name = "part"

    def __init__(self, *groups: str) -> None:
        self.groups = groups
        for group in groups:
            setattr(self, group, getattr(registry.load("jax"), group))


def part(*groups: str) -> Any:
    return registry.scope(Part(*groups))  # type: ignore[arg-type]


X = np.linspace(-1, 1, 12, dtype="float32").reshape(6, 2)
Y = X.sum(1, keepdims=True)


def losses(**options: Any) -> list[float]:
    gx.random.set_random_seed(3)
    model = gx.Sequential([gx.layers.Dense(3, activation="tanh"), gx.layers.Dense(1)])
    model.compile(optimizer=gx.optimizers.Adam(0.05), loss="mse")
    return list(model.fit(X, Y, batch_size=3, epochs=2, shuffle=False, verbose=0, **options).history["loss"])


@pytest.mark.broad
def test_a_backend_with_gradients_and_no_compiler_trains_as_one_with_a_compiler() -> None:
    wanted = losses()
    with part(*DERIVES):
        np.testing.assert_allclose(losses(), wanted, rtol=1e-5)


def test_gradients_need_neither_compiling_nor_control_flow() -> None:
    def cube(x: Any) -> Any:
        return ops.sum(x * x * x)

    with part(*DERIVES):
        v = gx.Variable([1.0, 2.0])
        np.testing.assert_allclose(gx.value_and_grad(lambda: cube(v), wrt=[v])()[1][0], [3.0, 12.0])
        np.testing.assert_allclose(gx.jacobian(lambda x: x * x, ops.asarray([1.0, 2.0])), np.diag([2.0, 4.0]))
        for _ in range(12):  # replays that come often are compiled, where that can be
            with gx.GradientTape() as tape:
                loss = cube(v)
            np.testing.assert_allclose(tape.gradient(loss, v), [3.0, 12.0])


@pytest.mark.broad
def test_recurrent_layers_step_in_python_without_control_flow() -> None:
    x = np.ones((2, 4, 3), "float32")
    gx.random.set_random_seed(1)
    wanted = np.asarray(gx.layers.LSTM(2)(x))
    with part(*DERIVES):
        gx.random.set_random_seed(1)
        np.testing.assert_allclose(gx.layers.LSTM(2)(x), wanted, rtol=1e-5)


def test_python_is_called_at_once_without_callbacks_but_not_with_traced_values() -> None:
    with part(*DERIVES):
        assert float(gx.py_function(lambda x: float(x) + 1.0, [2.0])) == 3.0
        with pytest.raises(BackendCapabilityError, match="'part' has no callbacks"):
            gx.gradients_function(lambda x: gx.py_function(lambda y: y * 2, [x]))(1.0)


@pytest.mark.parametrize(
    ("lacks", "work"),
    [
        ("compiling", lambda: gx.jit(lambda x: x + 1)(1.0)),
        ("control_flow", lambda: gx.scan(lambda c, x: (c + x, c), 0.0, np.ones(3, "float32"))),
        ("gradients", lambda: gx.gradients_function(lambda x: x * x)(1.0)),
        ("vectorizing", lambda: gx.vectorized_map(lambda x: x * 2, np.ones((3, 2), "float32"))),
    ],
)
def test_what_is_missing_is_told_by_name(lacks: str, work: Any) -> None:
    with part(*(group for group in GROUPS if group != lacks)), pytest.raises(BackendCapabilityError) as caught:
        work()
    assert f"'part' has no {lacks}" in str(caught.value)
    assert f"{lacks} is offered by: jax" in str(caught.value)


@pytest.mark.parametrize(
    ("lacks", "work"),
    [
        ("gradients", lambda: gx.gradients_function(lambda x: x * x)(1.0)),
        ("gradients", lambda: gx.GradientTape().__enter__()),
        ("vectorizing", lambda: gx.vectorized_map(lambda x: x * 2, np.ones((3, 2), "float32"))),
        ("compiling", lambda: gx.jit(lambda x: x + 1)(1.0)),
        ("control_flow", lambda: gx.scan(lambda c, x: (c + x, c), 0.0, np.ones(3, "float32"))),
    ],
)
def test_where_nothing_is_traced_the_ability_that_was_asked_for_is_told(lacks: str, work: Any) -> None:
    with gx.backend.use("numpy"), pytest.raises(BackendCapabilityError, match=f"'numpy' has no {lacks}"):
        work()


def test_functional_calls_need_no_ability() -> None:
    with gx.backend.use("numpy"):
        layer = gx.layers.Dense(2)
        x = np.ones((1, 3), "float32")
        out = layer(x)
        again, _ = gx.functional_call(layer, gx.state(layer), x)
        np.testing.assert_allclose(again, out)


def test_the_package_asks_for_groups_that_there_are():
    sources = [file.read_text(encoding="utf-8") for file in Path(gx.__file__).parent.rglob("*.py")]
    asked = {group for source in sources for group in re.findall(r'\.has\("(\w+)"\)', source)}
    assert len(asked) >= 4
    assert asked <= {*GROUPS}
