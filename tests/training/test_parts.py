import copy

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.metrics import Mean
from graftax.training.parts import parts_of

X = np.linspace(-1, 1, 24, dtype="float32").reshape(8, 3)


class Counting(gx.Model):
    """A model that keeps metrics in a list, a dict and a layer."""

    def __init__(self):
        super().__init__()
        self.dense, self.listed, self.named = layers.Dense(1), [], {}

    def call(self, x):
        return self.dense(x)


def compiled():
    model = Counting()
    model.compile("sgd", "mse")
    model.fit(X, X[:, :1], verbose=0)
    return model


def test_parts_are_kept_until_the_graph_changes():
    model = compiled()
    kept = parts_of(model)
    assert parts_of(model) is kept
    changes = (
        lambda: model.listed.append(Mean(name="a")),
        lambda: model.named.update(b=Mean(name="b")),
        lambda: setattr(model, "third", Mean(name="c")),
        lambda: setattr(model.dense, "fourth", [(Mean(name="d"),)]),
        lambda: model.listed.clear(),
        lambda: delattr(model, "third"),
    )
    counts = []
    for change in changes:
        change()
        assert parts_of(model) is not kept
        kept = parts_of(model)
        counts.append(sorted(metric.name for metric in kept.metrics.values()))
    assert counts == [["a"], ["a", "b"], ["a", "b", "c"], ["a", "b", "c", "d"], ["b", "c", "d"], ["b", "d"]]


def test_a_metric_that_came_in_a_list_starts_over_in_the_next_epoch():
    model = compiled()
    model.listed.append(Mean(name="late"))
    model.listed[0].update(5.0)
    model.reset_metrics()
    assert float(model.listed[0].result()) == 0.0


@pytest.mark.broad
def test_a_layer_that_comes_later_is_asked_whether_it_carries_states():
    model = gx.Sequential([layers.LSTM(2, stateful=True), layers.Dense(1)])
    model.compile("sgd", "mse")
    steps = np.ones((4, 5, 3), "float32")
    model.fit(steps, steps[:, 0, :1], batch_size=4, shuffle=False, verbose=0)
    first = parts_of(model)
    assert first.stateful == [model.layers[0]]
    model.layers[0].stateful = False
    model.fit(steps, steps[:, 0, :1], verbose=0)  # shuffled, which would be refused


@pytest.mark.broad
def test_a_copy_looks_for_itself():
    model = compiled()
    model.listed.append(Mean(name="a"))
    parts_of(model)
    other = copy.deepcopy(model)
    assert parts_of(other).metrics["listed/0"] is other.listed[0]
