"""State that a compiled function keeps in plain attributes: the call that reads it raises, whatever holds it."""

from __future__ import annotations

from typing import Any

import pytest

import graftax as gx
from graftax.errors import TracerLeakError


class InDict(gx.Optimizer):
    def __init__(self, learning_rate: float = 0.1) -> None:
        super().__init__(learning_rate)
        self.momentum: dict[str, Any] = {}

    def update(self, gradient, variable, slots, step):
        self.momentum["w"] = 0.9 * self.momentum.get("w", 0.0) + gradient
        return variable - step.learning_rate * self.momentum["w"], {}


class InList(InDict):
    def __init__(self) -> None:
        super().__init__()
        self.held = [0.0]

    def update(self, gradient, variable, slots, step):
        self.held[0] = 0.9 * self.held[0] + gradient
        return variable - step.learning_rate * self.held[0], {}


class InAttribute(InDict):
    def __init__(self) -> None:
        super().__init__()
        self.held = 0.0

    def update(self, gradient, variable, slots, step):
        self.held = 0.9 * self.held + gradient
        return variable - step.learning_rate * self.held, {}


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("nested", [False, True], ids=["jit", "jit_in_jit"])
@pytest.mark.parametrize("kind", [InDict, InList, InAttribute])
def test_a_later_run_that_would_read_lost_state_raises(kind: type[InDict], nested: bool) -> None:
    optimizer, w = kind(), gx.Variable([1.0])
    step = gx.jit(lambda: optimizer.apply([[1.0]], [w]))
    run = gx.jit(lambda: step()) if nested else step
    with pytest.warns(UserWarning, match="keeps a traced value"):
        run()
    before = w.numpy()
    with pytest.raises(TracerLeakError, match="Variable"):
        run()
    assert (w.numpy() == before).all()


def test_values_that_are_only_kept_are_traced_twice_and_then_no_more() -> None:
    class Noting(gx.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.all: list[Any] = []
            self.by_name: dict[str, Any] = {}

        def call(self, x):
            self.all.append(x * 2)
            self.by_name["x"] = x * 3
            return x

    noting = Noting()
    f = gx.jit(noting)
    with pytest.warns(UserWarning, match="keeps a traced value"):
        f(gx.ops.ones(1))
    for _ in range(3):
        f(gx.ops.ones(1))
    assert f.trace_count == 2
