"""Predictions of half precision come to metrics and losses of the user's in float32."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core.errors import AssignmentError

X = np.random.default_rng(0).random((1000, 3)).astype("float32")
Y = X[:, :1]


class Total(gx.metrics.Metric):
    def __init__(self, name="total"):
        super().__init__(name)
        self.total = self.add_variable(())

    def update(self, y_true, y_pred):
        self.total.assign_add(ops.sum(y_pred))

    def result(self):
        return self.total.value


def half_dense():
    return layers.Dense(1, kernel_initializer="ones", dtype="mixed_bfloat16")


@pytest.mark.parametrize("options", [{}, {"run_eagerly": True}], ids=["compiled", "eager"])
def test_a_metric_adds_up_in_float32(options):
    model = gx.Sequential([half_dense()])
    given = {"function": lambda y_true, y_pred: y_pred, "metric": Total()}
    model.compile("sgd", "mse", metrics=[given["metric"]], weighted_metrics=[given["function"]], **options)
    found = model.evaluate(X, Y, batch_size=1000, verbose=0)
    outputs = np.asarray(model(X))
    assert str(outputs.dtype) == "bfloat16"
    np.testing.assert_allclose(found["total"], outputs.astype("float64").sum(), rtol=1e-5)


@pytest.mark.broad
def test_several_outputs():
    class Two(gx.Model):
        def __init__(self):
            super().__init__()
            self.dense = half_dense()

        def call(self, x):
            return {"a": self.dense(x), "b": ops.cast(x, "int32")}

    model = Two()
    model.compile("sgd", {"a": "mse"}, metrics={"a": [Total()]})
    found = model.evaluate(X, {"a": Y}, batch_size=1000, verbose=0)
    np.testing.assert_allclose(found["a_total"], np.asarray(model(X)["a"]).astype("float64").sum(), rtol=1e-5)


def test_the_error_for_a_sum_in_half_precision_says_where_to_cast():
    values = ops.cast(X, "bfloat16")
    told = (
        r'ops\.cast\(value, "float32"\); a sum is rounded to bfloat16 by then, .*ops\.sum\(ops\.cast\(x, "float32"\)\)'
    )
    with pytest.raises(AssignmentError, match=told):
        Total().update(None, values)
    metric = Total()
    metric.total.assign_add(ops.sum(ops.cast(values, "float32")))
    np.testing.assert_allclose(metric.result(), np.asarray(values).astype("float64").sum(), rtol=1e-5)
