"""What metrics start from: new arrays, so that a step may write to the memory of each."""

import copy
import pickle

import jax
import numpy as np
import pytest

import graftax as gx
from graftax import metrics
from graftax.backend import registry
from graftax.core.errors import StateError
from graftax.metrics.start_values import new_array


def test_each_has_memory_of_its_own_however_many_are_asked_for():
    value, backend = np.array([1.5, -2.0], "float32"), registry.current()
    found = [new_array(value, backend) for _ in range(40)]
    assert len({one.unsafe_buffer_pointer() for one in found}) == 40
    taken = jax.jit(lambda x: x + 1, donate_argnums=0)
    for one in found[::2]:
        assert taken(one).tolist() == [2.5, -1.0]
    assert all(one.tolist() == [1.5, -2.0] for one in found[1::2])


def test_a_metric_starts_over_again_and_again_between_compiled_updates():
    total = gx.metrics.Sum()
    update = gx.jit(lambda x: total.update(x) or total.result())
    for i in range(40):
        total.reset()
        assert float(total.result()) == 0.0
        assert float(update(gx.ops.full((2,), float(i)))) == 2.0 * i


class Kept(metrics.Metric):
    """Keeps plain Variables, as Keras lets one write, and one of the caller's."""

    def __init__(self, shared, **options):
        super().__init__(**options)
        self.count = gx.Variable(0.0)
        self.some = [gx.Variable(1.0), gx.Variable(2.0)]
        self.named = {"a": gx.Variable(3.0)}
        self.shared = shared

    def update(self, y_true, y_pred, sample_weight=None):
        for variable in (self.count, *self.some, self.named["a"], self.shared):
            variable.assign_add(1.0)

    def result(self):
        return self.count.value


def numbers(metric):
    return {v.path: float(v.numpy()) for v in metric.variables}


FIRST = {"count": 0.0, "some/0": 1.0, "some/1": 2.0, "named/a": 3.0}


@pytest.mark.parametrize("copied", [lambda m: m, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_plain_variables_of_a_metric_start_over_and_those_of_others_do_not(copied):
    metric = copied(Kept(gx.Variable(10.0)))
    for count in (1, 2):
        metric.update([1.0], [1.0])
        assert numbers(metric) == {path: value + 1 for path, value in FIRST.items()} | {"shared": 10.0 + count}
        metric.reset()
        assert numbers(metric) == FIRST | {"shared": 10.0 + count}


def test_epochs_count_plain_variables_anew():
    metric = Kept(gx.Variable(10.0))
    model = gx.Sequential([gx.layers.Dense(1)])
    model.compile("sgd", "mse", metrics=[metric])
    x = np.ones((8, 2), "float32")
    assert model.fit(x, x[:, :1], epochs=3, batch_size=4, verbose=0).history["kept"] == [2.0, 2.0, 2.0]


def test_a_plain_variable_that_came_into_a_list_is_refused_by_reset():
    metric = Kept(gx.Variable(10.0))
    metric.some.append(gx.Variable(0.0))
    with pytest.raises(StateError, match=r"(?s)'some/2'.*self\.add_variable"):
        metric.reset()
