"""Traced values that somebody keeps: the warning at the trace, and the error of what uses one, name the place."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.errors import TracerLeakError

X, Y = np.ones((8, 3), "float32"), np.ones((8, 1), "float32")


class Holder:
    last: Any


class Layer(gx.layers.Dense):
    def call(self, x):
        self.last = super().call(x)
        return self.last


class OfClass(gx.layers.Dense):
    last: Any = None

    def call(self, x):
        type(self).last = super().call(x)
        return type(self).last


class Around(gx.layers.Dense):
    def call(self, x):
        HELD.last = super().call(x)
        return HELD.last


class Appending(gx.layers.Dense):
    def call(self, x):
        KEPT.append(super().call(x))
        return KEPT[-1]


class Metric(gx.metrics.MeanSquaredError):
    def update_state(self, y_true, y_pred, sample_weight=None):
        self.last = y_pred
        super().update_state(y_true, y_pred, sample_weight=sample_weight)


class Loss(gx.losses.Loss):
    def call(self, y_true, y_pred):
        self.last = ops.square(y_true - y_pred)
        return self.last


class Penalty(gx.regularizers.Regularizer):
    def __call__(self, weight):
        self.last = ops.sum(weight * weight)
        return self.last


class Descent(gx.optimizers.SGD):
    def apply(self, gradients, variables=None, **options):
        self.last = gradients[0]
        return super().apply(gradients, variables, **options)


HELD, KEPT = Holder(), list[Any]()

MAKE: dict[str, tuple[Any, str]] = {
    "layer": (Layer, "Layer.last"),
    "class": (OfClass, "OfClass.last"),
    "object": (Around, "Holder.last"),
    "list": (Appending, "KEPT[0]"),
    "metric": (Metric, "Metric.last"),
    "loss": (Loss, "Loss.last"),
    "regularizer": (Penalty, "Penalty.last"),
    "optimizer": (Descent, "Descent.last"),
}
OF_LAYERS = ("layer", "class", "object", "list")


@pytest.fixture(autouse=True)
def unfrozen() -> Iterator[None]:
    """What the tests freeze for speed is what Python cannot ask for its parts."""
    gc.unfreeze()
    yield
    gc.freeze()


def model_with(what: str) -> tuple[gx.Model, Any]:
    kind: Any = MAKE[what][0]
    given = kind(1) if what in OF_LAYERS else kind()
    layer = given if what in OF_LAYERS else gx.layers.Dense(1, kernel_regularizer=given if what[0] == "r" else None)
    model = gx.Sequential([layer])
    model.compile(
        given if what == "optimizer" else "sgd",
        given if what == "loss" else "mse",
        metrics=[given] if what == "metric" else [],
    )
    return model, given


def run(how: str, model: gx.Model) -> None:
    if how == "fit":
        model.fit(X, Y, verbose=0)
    elif how == "train_on_batch":
        model.train_on_batch(X, Y)
    elif how == "jit":
        gx.jit(lambda x: model(x))(X)
    else:
        model.build((None, 3))
        gx.scan(lambda carry, x: (carry, model(x)), 0.0, np.stack([X, X]))


WAYS = [
    *((what, how) for what in MAKE for how in ("fit", "train_on_batch")),
    *((what, how) for what in OF_LAYERS for how in ("jit", "scan")),
]


@pytest.mark.parametrize(("what", "how"), WAYS)
def test_the_place_is_named(what: str, how: str) -> None:
    KEPT.clear()
    model, given = model_with(what)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        run(how, model)
    if what != "list" and how != "scan":  # what a list only gets, or a turn only puts there, harms nothing yet
        (one,) = [str(found.message) for found in told if "keeps a traced value" in str(found.message)]
        assert ".last keeps" in one
        assert "self.last.assign(...)" in one
    kept = {"object": lambda: HELD.last, "list": lambda: KEPT[0]}.get(what, lambda: given.last)()
    with pytest.raises(TracerLeakError) as caught:
        ops.sum(kept)
    assert MAKE[what][1] in str(caught.value)
    assert "Variable" in caught.value.instead


def test_a_later_fit_warns_no_more() -> None:
    model, _ = model_with("layer")
    with pytest.warns(UserWarning, match=r"layers/0\.last keeps a traced value"):
        model.fit(X, Y, verbose=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, Y, verbose=0)
        model.fit(X[:5], Y[:5], verbose=0)


def test_what_is_in_no_attribute_has_the_general_error() -> None:
    def leak() -> Any:
        found: list[Any] = []
        gx.jit(lambda x: found.append(x * 2) or x)(1.0)
        return found.pop()

    with pytest.raises(TracerLeakError, match="was used after its trace had ended"):
        ops.sum(leak())
