"""Targets and weights that nothing would use are refused, whatever they are for; the remedies are taken."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core.errors import DataError
from tests.conformance.lanes import crossed

X = np.linspace(-1, 1, 24, dtype="float32").reshape(8, 3)
Y = {"a": X[:, :1], "b": X[:, 1:2]}
W = {"a": np.ones(8, "float32"), "b": np.full(8, 5, "float32")}


class Two(gx.Model):
    def __init__(self, as_list=False):
        super().__init__()
        self.a, self.b, self.as_list = layers.Dense(1), layers.Dense(1), as_list

    def call(self, x):
        return [self.a(x), self.b(x)] if self.as_list else {"a": self.a(x), "b": self.b(x)}


def run(name, model, y, w=None):
    quiet = {"verbose": 0} if name in ("fit", "evaluate") else {}
    return getattr(model, name)(X, y, sample_weight=w, **quiet)


RUNS = ["fit", "evaluate", "train_on_batch", "test_on_batch"]


@pytest.mark.broad
@pytest.mark.in_turn(3)
@pytest.mark.parametrize(("name", "eagerly"), crossed(RUNS, [False, True]))
def test_weights_of_an_output_without_a_loss(name, eagerly):
    model = Two()
    model.compile("sgd", {"a": "mse"}, metrics={"b": ["mae"]}, run_eagerly=eagerly)
    model(X)
    before = model.a.kernel.numpy()
    with pytest.raises(DataError, match=r"(?s)sample_weight for 'b'.*weighted_metrics=\{'b'.*sample_weight=\{'a'"):
        run(name, model, Y, W)
    np.testing.assert_array_equal(model.a.kernel.numpy(), before)
    run(name, model, Y, {"a": W["a"]})
    run(name, model, Y, {"a": W["a"], "b": None})
    run(name, model, Y, W["a"])
    model.compile("sgd", {"a": "mse"}, weighted_metrics={"b": ["mae"]})
    run(name, model, Y, W)


@pytest.mark.broad
def test_weights_in_a_list():
    model = Two(as_list=True)
    model.compile("sgd", ["mse", None], metrics=[[], ["mae"]])
    with pytest.raises(DataError, match="sample_weight for 'output_1'"):
        run("fit", model, [Y["a"], Y["b"]], [W["a"], W["b"]])
    run("fit", model, [Y["a"], Y["b"]], [W["a"], None])


@pytest.mark.in_turn(5, 1, broad=2)
@pytest.mark.parametrize("metrics", [None, {"a": ["mae"], "b": []}])
@pytest.mark.parametrize("name", RUNS)
def test_targets_of_an_output_with_neither(name, metrics):
    model = Two()
    model.compile("sgd", {"a": "mse"}, metrics=metrics)
    with pytest.raises(DataError, match=r"(?s)targets for 'b'.*neither a loss nor a metric.*y=\{'a': \.\.\.\}"):
        run(name, model, Y)
    run(name, model, {"a": Y["a"]})
    run(name, model, {"a": Y["a"], "b": None})


class Itself(gx.Model):
    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(3)

    def call(self, x):
        y = self.dense(x)
        self.add_loss(ops.mean((y - x) ** 2))
        return y


@pytest.mark.in_turn(4, 2)
@pytest.mark.parametrize("name", RUNS)
def test_a_model_that_adds_its_own_loss(name):
    model = Itself()
    model.compile("sgd")
    with pytest.raises(DataError, match="targets for a model compiled without a loss"):
        run(name, model, X)
    with pytest.raises(DataError, match="sample_weight for a model compiled without a loss"):
        run(name, model, None, W["a"])
    run(name, model, None)
    model.compile("sgd", metrics=["mae"])
    run(name, model, X)
    with pytest.raises(DataError, match="sample_weight for a model compiled without a loss"):
        run(name, model, X, W["a"])
    model.compile("sgd", weighted_metrics=["mae"])
    run(name, model, X, W["a"])


@pytest.mark.broad
def test_steps_of_ones_own_use_what_they_like():
    class Own(Two):
        def compute_metrics(self, x, y, y_pred, sample_weight=None):
            found = super().compute_metrics(x, y, y_pred, sample_weight)
            return {**found, "b": ops.mean(ops.abs(y["b"] - y_pred["b"]))}

    model = Own()
    model.compile("sgd", {"a": "mse"})
    assert np.isfinite(run("fit", model, Y).history["b"])
