"""Objects that hold their parents, or themselves, are saved, restored and restored on create as any other."""

import numpy as np
import pytest

import graftax as gx
from graftax.checkpoint.checkpoint import Checkpoint
from graftax.core.errors import SelectorError
from graftax.variables.graph.module import Module


def value(variable):
    return variable.numpy().tolist()


class Child(Module):
    def __init__(self, parent):
        self.parent = parent
        self.v = None


class Parent(Module):
    def __init__(self):
        self.itself = self
        self.children = [Child(self), Child(self)]
        self.w = gx.Variable(np.float32(0))


def test_deferred_values_come_to_objects_that_hold_their_parent(saved, toys):
    old = Parent()
    for i, child in enumerate(old.children):
        child.v = toys.number(i + 1)
    old.w.assign(np.float32(3))
    path = saved(m=old)
    new = Parent()
    report = Checkpoint(m=new).restore(path)
    assert value(new.w) == 3
    assert set(report.deferred) == {"m/children/0/v", "m/children/1/v"}
    for child in new.children:
        child.v = toys.number(0)
    report.assert_consumed()
    assert [value(child.v) for child in new.children] == [1, 2]


def test_an_object_that_appears_later_holds_what_was_there(saved, toys):
    old = toys.Box(first=toys.number(1), child=None)
    old.child = Child(old)
    old.child.v = toys.number(2)
    path = saved(m=old)
    new = toys.Box(first=toys.number(0), child=None)
    report = Checkpoint(m=new).restore(path)
    late = Child(new)
    late.v = toys.number(0)
    new.child = late
    report.assert_consumed()
    assert (value(new.first), value(late.v)) == (1, 2)
    late.parent.child.v = toys.number(9)
    assert value(late.v) == 9


class Block(gx.Layer):
    def __init__(self, parent):
        super().__init__()
        self.parent = parent
        self.dense = gx.layers.Dense(2)

    def call(self, x):
        return self.dense(x)


class Net(gx.Layer):
    def __init__(self):
        super().__init__()
        self.block = Block(self)

    def call(self, x):
        return self.block(x)


def test_layers_that_hold_their_parent_are_built_without_a_warning(saved):
    x = np.ones((1, 3), "float32")
    old = Net()
    expected = old(x).tolist()
    path = saved(net=old)
    new = Net()
    report = Checkpoint(net=new).restore(path)
    assert new(x).tolist() == expected
    report.assert_consumed()


@pytest.mark.parametrize("how", ["only", "skip"])
def test_a_way_around_a_cycle_is_no_path_for_selectors(saved, how):
    """A part that holds itself, at two places: it is at neither of the ways through itself."""

    class Part(Module):
        def __init__(self):
            self.again, self.w = self, gx.Variable([1.0])

    part = Part()
    m = {"one": part, "other": part, "last": gx.Variable([1.0])}
    path = saved(m=m)
    with pytest.raises(SelectorError, match="matches none"):
        Checkpoint(m=m).restore(path, mode="overlap", **{how: "**/again/**"})
    part.w.assign([0.0])
    m["last"].assign([0.0])
    Checkpoint(m=m).restore(path, **{how: "m/other/w"})
    assert [value(part.w), value(m["last"])] == ([[1], [0]] if how == "only" else [[0], [1]])
