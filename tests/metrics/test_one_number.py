"""Metrics that give a number for each threshold or class are refused where one number is shown."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.core.errors import ArgumentError
from graftax.metrics import F1Score, FalseNegatives, Precision, Recall, TruePositives


class Mean(Precision):
    def result(self):
        return gx.ops.mean(super().result())


@pytest.mark.parametrize(
    "metric", [Precision([0.3, 0.5]), Recall([0.3]), TruePositives([0.3, 0.5]), FalseNegatives((0.3,))]
)
@pytest.mark.parametrize("given", ["metrics", "weighted_metrics"])
def test_a_number_for_each_threshold(metric, given):
    kind = type(metric).__name__
    with pytest.raises(
        ArgumentError, match=rf"(?s)a number for each threshold.*\[{kind}\(0\.3, name=\"{metric.name}_at"
    ):
        gx.Sequential([layers.Dense(1)]).compile("sgd", "mse", **{given: [metric]})


def test_a_number_for_each_class():
    with pytest.raises(ArgumentError, match="a number for each class"):
        gx.Sequential([layers.Dense(3)]).compile("sgd", "mse", metrics=[F1Score()])


@pytest.mark.broad
def test_the_line_to_write():
    model = gx.Sequential([layers.Dense(1, "sigmoid")])
    model.compile("sgd", "bce", metrics=[Precision(0.3, name="precision_at_0.3"), Mean([0.3, 0.5]), Recall(0.5)])
    found = model.evaluate(np.ones((4, 2), "float32"), np.ones((4, 1), "float32"), verbose=0)
    assert {"precision_at_0.3", "mean", "recall"} <= set(found)
