"""Attributes of the classes of Modules are followed by what is compiled, as those of the Modules are."""

import numpy as np

import graftax as gx
from graftax import ops
from graftax.variables.graph.class_attributes import given_by_class


def classes():
    """Return a class and its base, both with attributes that all objects read."""

    class Scaled:
        rate = 1.0

    class Net(Scaled, gx.Layer):
        steps = (1.0,)

        def call(self, x):
            return x * self.rate * self.steps[0]

    return Net, Scaled


def test_one_that_is_assigned_to_a_class_or_its_base():
    net, base = classes()
    layer = net()
    f = gx.jit(layer)
    found = [float(f(np.float32(1))) for _ in range(2)]
    base.rate = 2.0
    found += [float(f(np.float32(1))) for _ in range(2)]
    net.steps = [3.0]
    found.append(float(f(np.float32(1))))
    net.steps[0] = 5.0
    found += [float(f(np.float32(1))) for _ in range(2)]
    assert (found, f.trace_count) == ([1.0, 1.0, 2.0, 2.0, 6.0, 10.0, 10.0], 4)
    assert float(layer(np.float32(1))) == 10.0


def test_one_behind_an_attribute_of_the_object():
    net, base = classes()
    layer = net()
    layer.rate = 7.0
    f = gx.jit(layer)
    assert float(f(np.float32(1))) == 7.0
    base.rate = 2.0
    assert (float(f(np.float32(1))), f.trace_count) == (7.0, 1)
    del layer.rate
    assert (float(f(np.float32(1))), f.trace_count) == (2.0, 2)


def test_one_that_the_function_itself_changes():
    class Counting(gx.Layer):
        calls = 0

        def call(self, x):
            type(self).calls += 1
            return x * self.calls

    layer = Counting()
    f = gx.jit(layer)
    assert [float(f(np.float32(1))) for _ in range(3)] == [1.0, 2.0, 3.0]


def test_one_that_appears_in_the_class():
    net, base = classes()
    layer = net()
    f = gx.jit(lambda x: layer(x) * getattr(layer, "more", 1.0))
    f(np.float32(1))
    del base.rate
    net.rate = 4.0
    assert float(f(np.float32(1))) == 4.0


def test_methods_and_classes_of_the_package_give_nothing():
    class Net(gx.Layer):
        activation = staticmethod(ops.tanh)
        untracked = frozenset({"cache"})

        def call(self, x):
            return x

        @property
        def width(self):
            return 3

    assert given_by_class(Net) == {}
    assert given_by_class(gx.layers.Dense) == {}


def test_a_default_of_the_class_that_the_first_call_replaces():
    class Lazy(gx.Module):
        weight = None

        def __call__(self, x):
            if self.weight is None:
                self.weight = gx.Variable(2.0)
            return x * self.weight

    f = gx.jit(Lazy())
    assert ([float(f(1.0)) for _ in range(2)], f.trace_count) == ([2.0, 2.0], 1)
