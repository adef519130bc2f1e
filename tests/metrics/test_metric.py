"""Metric: Variables, reset, the call."""

import numpy as np
import pytest

import graftax as gx
from graftax import metrics, ops


class Range(metrics.Metric):
    def __init__(self, **options):
        super().__init__(**options)
        self.low = self.add_variable((), initializer=np.inf)
        self.high = self.add_variable((2,), initializer=[-1.0, -2.0], name="top", dtype="float16")

    def update(self, values):
        self.low.assign(ops.minimum(self.low, ops.min(values)))

    def result(self):
        return self.low.value


def test_mt1_the_call_gives_the_running_value():
    mean = metrics.Mean()
    assert float(mean(5.0)) == 5
    assert float(mean(1.0)) == 3
    assert float(mean.result()) == 3
    mean.reset()
    assert float(mean.result()) == 0


def test_mt4_variables_of_a_metric():
    metric = Range(name="range_of_x")
    assert [(v.path, v.name, v.role, v.trainable, v.dtype) for v in metric.variables] == [
        ("low", "low", "metric", False, "float32"),
        ("high", "top", "metric", False, "float16"),
    ]
    assert metric.name == "range_of_x"
    assert Range().name == "range"


def test_reset_gives_back_the_first_values_even_compiled():
    metric = Range()
    metric.update([3.0, 4.0])
    assert float(metric.result()) == 3
    metric.reset()
    assert float(metric.result()) == np.inf
    assert metric.high.numpy().tolist() == [-1, -2]
    step = gx.jit(lambda x: metric(x))
    start = gx.jit(lambda: metric.reset())
    assert float(step(np.float32([2.0]))) == 2
    start()
    assert float(metric.result()) == np.inf
    assert float(step(np.float32([7.0]))) == 7


def test_a_metric_may_be_made_inside_a_compiled_function():
    made = []

    @gx.jit
    def step(x):
        if not made:
            made.append(metrics.Mean())
        return made[0](x)

    assert [float(step(np.float32(x))) for x in (2, 4, 9)] == [2, 3, 5]
    made[0].reset()
    assert float(made[0].result()) == 0
    assert float(step(np.float32(1))) == 1


def test_creators_see_the_role():
    seen = []

    def note(next_creator, spec):
        seen.append((spec.path, spec.role, spec.trainable, type(spec.owner).__name__))
        return next_creator(spec)

    with gx.variable_creator_scope(note, roles=("metric",)):
        Range()
    with gx.variable_creator_scope(note):
        Range()
    assert seen == [("variable_0", "metric", False, "Range"), ("top", "metric", False, "Range")]


def test_state_in_and_out_of_functional_calls():
    mean = metrics.Mean()
    out, state = gx.functional_call(mean, gx.state(mean), np.float32([1.0, 3.0]))
    assert float(out) == 2
    assert float(mean.result()) == 0
    assert np.asarray(state["sums"]).tolist() == [[4, 2], [0, 0]]


def test_gradients_do_not_lose_updates():
    mean = metrics.Mean()

    def loss(x):
        mean.update(x)
        return x * x

    assert float(gx.jit(gx.grad(loss))(3.0)) == 6
    assert float(mean.result()) == 3


def test_what_a_subclass_must_define():
    with pytest.raises(NotImplementedError, match="must define update"):
        metrics.Metric().update()
    with pytest.raises(NotImplementedError, match="must define result"):
        metrics.Metric().result()
    with pytest.raises(NotImplementedError, match="must define values"):
        metrics.SampleMetric().update([1.0], [1.0])


def test_a_metric_reset_often_starts_from_an_array_of_its_own_each_time():
    metric, other = Range(), Range()
    step = gx.jit(lambda x: metric(x))  # it is given the memory of what the metric starts from
    for i in range(12):
        metric.reset()
        other.reset()
        kept = metric.low.value
        assert float(step(np.float32([i]))) == i
        assert float(kept) == float(other.low.value) == np.inf
        assert metric.high.numpy().tolist() == other.high.numpy().tolist() == [-1, -2]
        assert metric.high.value.dtype == "float16"


def test_a_metric_reset_often_can_be_reset_in_a_compiled_function():
    metric = Range()
    for _ in range(10):  # as often as to be made by a program of its own
        metric.reset()
    metric.update([3.0])

    @gx.jit
    def start(x):
        metric.reset()
        return x

    start(np.float32(1))
    assert float(metric.result()) == np.inf
