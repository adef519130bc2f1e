"""What the Python of a user's loss, metric, layer, regularizer or step changes at each batch counts in compiled loops.

Such as a list that grows: the numbers are those of ``run_eagerly``, or an error says what to write instead.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax import ops

X = np.linspace(-1, 1, 8, dtype="float32").reshape(4, 2)
Y = X[:, :1].copy()


class Tally:
    """What a part of a user's program may keep in Python; `add` changes it, and returns how often it has been."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.number = 0
        self.held: Any = {
            "append": [], "extend": [], "value": [], "dict": {}, "set": set[int](), "deque": deque[int](),
            "array": np.zeros(1, "float32"), "counter": None,
        }[kind]  # fmt: skip

    def add(self, value: Any) -> Any:
        held = self.held
        if self.kind == "counter":
            self.number += 1
            return self.number
        if self.kind == "array":
            held += 1
            return float(held[0])
        if self.kind == "value":
            held.append(ops.mean(value) + 1)
            return sum(held)
        if self.kind == "extend":
            held.extend([1, 1])
        elif self.kind == "dict":
            held[len(held)] = 1
        elif self.kind == "set":
            held.add(len(held))
        else:
            held.append(1)
        return len(held)


class OwnLayer(gx.Layer):
    def __init__(self, kind: str) -> None:
        super().__init__()
        self.tally = Tally(kind)

    def call(self, x: Any) -> Any:
        return x * self.tally.add(x)


class OwnLoss(gx.losses.Loss):
    def __init__(self, kind: str) -> None:
        super().__init__()
        self.tally = Tally(kind)

    def call(self, y_true: Any, y_pred: Any) -> Any:
        return ops.mean((y_true - y_pred) ** 2, axis=-1) * self.tally.add(y_pred)


class AtUpdate(gx.metrics.Metric):
    def __init__(self, kind: str) -> None:
        super().__init__(name="own")
        self.kind = kind
        self.tally = Tally(kind)
        self.found: Any = 0

    def update(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        self.found = self.tally.add(y_pred)

    def result(self) -> Any:
        return ops.ones(()) * self.found

    def reset(self) -> None:
        self.tally = Tally(self.kind)


class OnlyAList(gx.metrics.Metric):
    """As it is often written: nothing but the list tells that the metric has changed."""

    def __init__(self) -> None:
        super().__init__(name="own")
        self.values: list[Any] = []

    def update(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        self.values.append(1)

    def result(self) -> Any:
        return ops.ones(()) * len(self.values)

    def reset(self) -> None:
        self.values = []


class AtResult(AtUpdate):
    def update(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        pass

    def result(self) -> Any:
        return ops.ones(()) * self.tally.add(1.0)


class OwnRegularizer(gx.regularizers.Regularizer):
    def __init__(self, kind: str) -> None:
        self.tally = Tally(kind)

    def __call__(self, value: Any) -> Any:
        return ops.sum(value**2) * self.tally.add(value)


class OwnCallable:
    """An object that is called like a function."""

    __name__ = "own"

    def __init__(self, kind: str) -> None:
        self.tally = Tally(kind)

    def __call__(self, y_true: Any, y_pred: Any) -> Any:
        return ops.mean((y_true - y_pred) ** 2, axis=-1) * self.tally.add(y_pred)


class OwnOptimizer(gx.optimizers.SGD):
    def __init__(self, kind: str) -> None:
        super().__init__(0.1)
        self.tally = Tally(kind)

    def minimize(self, *args: Any, **kwargs: Any) -> Any:
        self.learning_rate = 0.01 * self.tally.add(1.0)
        return super().minimize(*args, **kwargs)


class Net(gx.Model):
    def __init__(self, layer: gx.Layer | None = None, regularizer: Any = None, kind: str = "append") -> None:
        super().__init__()
        self.dense = gx.layers.Dense(1, kernel_initializer="ones", kernel_regularizer=regularizer)
        self.layer = layer
        self.tally = Tally(kind)

    def call(self, x: Any) -> Any:
        x = self.dense(x)
        return x if self.layer is None else self.layer(x)


class AtTraining(Net):
    def train_step(self, batch: Any) -> Any:
        times = self.tally.add(batch[0])
        return {name: one * times for name, one in super().train_step(batch).items()}


class AtTest(Net):
    def test_step(self, batch: Any) -> Any:
        times = self.tally.add(batch[0])
        return {name: one * times for name, one in super().test_step(batch).items()}


class AtPrediction(Net):
    def predict_step(self, x: Any) -> Any:
        return self(x) * self.tally.add(x)


class InTheLoss(Net):
    def compute_loss(self, x: Any = None, y: Any = None, y_pred: Any = None, sample_weight: Any = None) -> Any:
        return super().compute_loss(x, y, y_pred, sample_weight) * self.tally.add(y_pred)


def closing_over(kind: str) -> Callable[..., Any]:
    kept = OwnCallable(kind)
    return lambda y_true, y_pred: kept(y_true, y_pred)


Made = tuple[gx.Model, dict[str, Any]]
PLACES: dict[str, Callable[[str], Made]] = {
    "layer": lambda kind: (Net(OwnLayer(kind)), {}),
    "loss": lambda kind: (Net(), {"loss": OwnLoss(kind)}),
    "function as a loss": lambda kind: (Net(), {"loss": closing_over(kind)}),
    "object as a loss": lambda kind: (Net(), {"loss": OwnCallable(kind)}),
    "object as a metric": lambda kind: (Net(), {"metrics": [OwnCallable(kind)]}),
    "update": lambda kind: (Net(), {"metrics": [AtUpdate(kind)]}),
    "list in a metric": lambda kind: (Net(), {"metrics": [OnlyAList()]}),
    "result": lambda kind: (Net(), {"metrics": [AtResult(kind)]}),
    "regularizer": lambda kind: (Net(regularizer=OwnRegularizer(kind)), {}),
    "optimizer": lambda kind: (Net(), {"optimizer": OwnOptimizer(kind)}),
    "train_step": lambda kind: (AtTraining(kind=kind), {}),
    "test_step": lambda kind: (AtTest(kind=kind), {}),
    "predict_step": lambda kind: (AtPrediction(kind=kind), {}),
    "compute_loss": lambda kind: (InTheLoss(kind=kind), {}),
}
KINDS = ["append", "extend", "value", "dict", "set", "deque", "array", "counter"]
ONLY = {"train_step": ("fit",), "optimizer": ("fit",), "test_step": ("evaluate",), "predict_step": ("predict",)}
LOOPS = {"layer": ("fit", "evaluate", "predict"), **ONLY}


def numbers(place: str, kind: str, loop: str, eagerly: bool, together: int = 1) -> list[float]:
    gx.set_random_seed(0)
    model, given = PLACES[place](kind)
    parts = {"optimizer": gx.optimizers.SGD(0.1), "loss": "mse", **given}
    model.compile(**parts, run_eagerly=eagerly, steps_per_execution=together)
    if loop == "fit":
        history = model.fit(X, Y, batch_size=2, shuffle=False, verbose=0).history
        return [number for some in history.values() for number in some]
    if loop == "evaluate":
        return [one for _ in range(2) for one in model.evaluate(X, Y, batch_size=2, verbose=0).values()]
    return [float(one) for one in model.predict(X, batch_size=2, verbose=0).ravel()]


def compare(place: str, kind: str, loop: str, together: int = 1) -> None:
    expected = numbers(place, kind, loop, eagerly=True)
    np.testing.assert_allclose(numbers(place, kind, loop, eagerly=False, together=together), expected, rtol=1e-4)


@pytest.mark.broad
@pytest.mark.in_turn(3)
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "value"])
def test_of_each_kind_in_a_metric(kind: str) -> None:
    compare("update", kind, "evaluate")


def test_a_list_in_a_metric_makes_a_trace_good_for_one_call() -> None:
    model = Net()
    model.compile(loss="mse", metrics=[OnlyAList()])
    entry, _, _ = model._gx_compiled_step("test_step").trace_arguments((X[:2], Y[:2]))  # type: ignore[attr-defined]
    assert entry.difference() == "OnlyAList.values changed, in the function itself"


@pytest.mark.broad
@pytest.mark.in_turn(3)
@pytest.mark.parametrize(
    ("place", "loop"), [(place, loop) for place in PLACES for loop in LOOPS.get(place, ("fit", "evaluate"))]
)
@pytest.mark.parametrize("kind", ["append"])
def test_at_each_place(place: str, loop: str, kind: str) -> None:
    compare(place, kind, loop)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "kind", "loop"),
    [
        (place, kind, loop)
        for place in PLACES
        for loop in LOOPS.get(place, ("fit", "evaluate"))
        for kind in KINDS
        if kind not in ("append", "value") and place != "list in a metric"
    ],
)
def test_of_each_kind_at_each_place(place: str, kind: str, loop: str) -> None:
    compare(place, kind, loop)


@pytest.mark.broad
@pytest.mark.in_turn(3)
@pytest.mark.parametrize("place", ["layer", "loss", "update", "list in a metric"])
@pytest.mark.parametrize("kind", ["deque", "array"])
def test_where_batches_are_taken_together(place: str, kind: str) -> None:
    compare(place, kind, "evaluate", together=2)


@pytest.mark.broad
@pytest.mark.parametrize("place", ["layer", "loss", "update", "result", "regularizer", "test_step", "compute_loss"])
@pytest.mark.filterwarnings("ignore:.*keeps a traced value")
def test_values_in_a_list_are_refused(place: str) -> None:
    with pytest.raises(gx.errors.GraftaxError) as caught:
        numbers(place, "value", "evaluate", eagerly=False)
    assert "why:" in str(caught.value)
    assert "instead:" in str(caught.value)
