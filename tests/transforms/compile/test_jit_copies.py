"""Compiled methods, copies of compiled functions, and what they keep in memory."""

import copy
import gc
import pickle
import weakref
from dataclasses import dataclass

import jax
import numpy as np
import pytest

from graftax.transforms.compile.jit import jit
from graftax.variables.graph.module import Module
from graftax.variables.state.storage import touch
from graftax.variables.variable import Variable
from tests.transforms.compile.boxes import Box

# --- methods, copies, memory ----------------------------------------------------------------------------------------


class Counter(Module):
    def __init__(self):
        self.n = Variable(0.0)
        self.children_ = [Box(parent=self)]

    @jit
    def step(self, x):
        touch(self)
        return self.n.assign_add(x).value


def test_fn20_methods_are_traced_for_each_instance_which_can_die():
    a, b = Counter(), Counter()
    assert [float(a.step(1.0)), float(a.step(1.0)), float(b.step(5.0))] == [1.0, 2.0, 5.0]
    assert (a.step.trace_count, b.step.trace_count, Counter.step.trace_count) == (1, 1, 0)
    dead = weakref.ref(a)
    del a
    gc.collect()
    assert dead() is None
    assert len(Counter.step._bound) == 1


def test_fn20_instances_that_cannot_be_hashed():
    @dataclass
    class Trainer:
        n: Variable

        @jit
        def step(self, x):
            return self.n.assign_add(x).value

    trainer, other = Trainer(Variable(0.0)), Trainer(Variable(10.0))
    assert [float(trainer.step(1.0)), float(trainer.step(1.0)), float(other.step(1.0))] == [1.0, 2.0, 11.0]


def test_copies_trace_for_themselves():
    class Model(Module):
        def __init__(self):
            self.n = Variable(0.0)
            self.step = jit(self._step)

        def _step(self, x):
            return self.n.assign_add(x).value

    model = Model()
    model.step(1.0)
    twin = copy.deepcopy(model)
    assert [float(twin.step(1.0)), float(twin.n), float(model.n)] == [2.0, 2.0, 1.0]
    counter = Counter()
    counter.step(1.0)
    twin = copy.deepcopy(counter)
    assert [float(twin.step(1.0)), float(counter.n)] == [2.0, 1.0]


def test_pickle_of_a_compiled_function():
    f = pickle.loads(pickle.dumps(jit(np.negative, max_retraces=3)))
    assert (f.trace_count, f._max_retraces) == (0, 3)


def test_memory_does_not_grow():
    v = Variable(np.zeros(1000, "float32"))
    f = jit(lambda x: v.assign(v * x).value.sum())
    f(1.0)
    f(1.0)
    gc.collect()
    before = len(jax.live_arrays())
    for _ in range(20):
        f(1.0)
        v.assign(v.value * 2)
    gc.collect()
    assert len(jax.live_arrays()) <= before


# --- a method that somebody keeps ------------------------------------------------------------------------------------


class Plain:
    def __init__(self):
        self.scale = Variable(2.0)

    @jit
    def step(self, x):
        return self.scale * x


class Net(Module):
    def __init__(self):
        self.scale = Variable(3.0)

    @jit
    def step(self, x):
        return self.scale * x


@pytest.mark.parametrize(("kind", "expected"), [(Plain, 2.0), (Net, 3.0)])
def test_an_object_lives_as_long_as_its_method(kind, expected):
    assert float(kind().step(1.0)) == expected
    kept = kind().step
    gc.collect()
    assert [float(kept(1.0)), float(kept(2.0)), kept.trace_count] == [expected, 2 * expected, 1]
    assert len(kept.lower(1.0).read) == 1
    instances = [one for one in kind.step._bound.values() if one[0]() is not None]
    assert len(instances) == 1
    del kept
    gc.collect()
    assert not [one for one in kind.step._bound.values() if one[0]() is not None]


def test_methods_of_one_object_are_equal():
    one, other = Plain(), Plain()
    assert one.step == one.step
    assert {one.step: 1}[one.step] == 1
    assert one.step != other.step
    assert (one.step.__name__, one.step.__qualname__) == ("step", "Plain.step")
    assert repr(one.step) == "<graftax.jit of Plain.step, traced 0 times>"


def test_a_copy_of_a_method_is_of_a_copy_of_its_object():
    one = Plain()
    assert float(one.step(1.0)) == 2.0
    twin = copy.deepcopy(one.step)
    one.scale.assign(5.0)
    assert [float(twin(1.0)), float(one.step(1.0))] == [2.0, 5.0]


def test_a_method_in_an_attribute_of_another_object():
    class Holder(Module):
        def __init__(self):
            self.run = Plain().step

        @jit
        def twice(self, x):
            return self.run(self.run(x))

    holder = Holder()
    assert [float(holder.twice(1.0)), float(holder.twice(2.0)), holder.twice.trace_count] == [4.0, 8.0, 1]


def test_a_method_is_forgotten_and_traced_anew():
    plain = Plain()
    step = plain.step
    step.trace(1.0)
    step.forget()
    assert step.trace_count == plain.step.trace_count == 0
