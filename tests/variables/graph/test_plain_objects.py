"""Plain objects with Variables, as attributes of Modules: told, unless something else holds what is in there."""

import functools
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import graftax as gx

X = np.ones((1, 2), "float32")


class Helper:
    def __init__(self):
        self.w = gx.Variable([1.0, 2.0])


class Slotted:
    __slots__ = ("missing", "w")

    def __init__(self):
        self.w = gx.Variable([1.0])


@dataclass
class Settings:
    size: int = 3
    parts: dict[str, Any] = field(default_factory=dict)


class Holds(gx.Module):
    def __init__(self, held):
        self.held = held


class Scaled(gx.Layer):
    def __init__(self, held):
        super().__init__()
        self.held = held

    def call(self, x):
        return x


@pytest.mark.parametrize(
    ("held", "path"),
    [
        (Helper, "held.w"),
        (Slotted, "held.w"),
        (lambda: [Helper(), Helper()], r"held\[0\].w"),
        (lambda: {"a": Helper()}, r"held\['a'\].w"),
        (lambda: Settings(parts={"b": [gx.Variable(1.0)]}), r"held.parts\['b'\]\[0\]"),
        (lambda: Settings(parts={"b": Helper()}), r"held.parts\['b'\].w"),
    ],
    ids=["object", "slots", "list", "dict", "dataclass", "nested"],
)
def test_variables_in_plain_objects_are_told_when_variables_are_asked_for(held, path):
    module = Holds(held())
    with pytest.warns(UserWarning, match=rf"Holds\.{path} is a Variable.*class \w+\(gx\.Module\)"):
        assert module.variables == []


def test_a_layer_tells_at_its_first_call_and_once():
    layer = Scaled(Helper())
    with pytest.warns(UserWarning, match=r"Scaled.held.w is a Variable, held by a plain object of the class Helper"):
        layer(X)
    layer(X)
    assert layer.variables == []


def test_what_an_object_makes_in_the_first_call_counts():
    class Lazily:
        def __call__(self, x):
            self.w = gx.Variable(np.ones(2, "float32"))
            return x * self.w

    class Model(gx.Model):
        def __init__(self):
            super().__init__()
            self.lazily = Lazily()

        def call(self, x):
            return self.lazily(x)

    with pytest.warns(UserWarning, match=r"Model.lazily.w is a Variable"):
        Model()(X)


def test_a_layer_in_a_plain_object_counts_once_it_has_weights():
    class Block:
        def __init__(self):
            self.dense = gx.layers.Dense(2)

    module = Holds(Block())
    module.held.dense.build((1, 2))
    with pytest.warns(UserWarning, match=r"Holds.held.dense is a Module with Variables"):
        assert module.variables == []


def test_the_line_to_write_works():
    class Helper(gx.Module):
        def __init__(self):
            self.w = gx.Variable([1.0, 2.0])

    module = Holds(Helper())
    assert [v.path for v in module.variables] == ["held/w"]

    class Untracked(Holds):
        untracked = frozenset({"held"})

    helper = type("Plain", (), {})()
    helper.w = gx.Variable(1.0)
    assert Untracked(helper).variables == []


def test_what_is_held_elsewhere_is_not_told():
    helper = Helper()
    module = Holds(helper)
    module.w = helper.w  # also an attribute
    assert [v.path for v in module.variables] == ["w"]


class Context:
    def __init__(self, **held):
        self.__dict__.update(held)


def test_references_to_what_is_above_or_beside_are_not_told():
    model = gx.Sequential([gx.layers.Dense(2), gx.layers.Dense(2)])
    model.layers[0].context = Context(model=model, beside=model.layers[1], weights=model.layers[1])
    model(X)
    assert len(model.variables) == 4


def test_what_was_appended_to_a_list_is_not_told():
    class Stack(gx.Layer):
        def __init__(self):
            super().__init__()
            self.blocks = []
            self.blocks.append(gx.layers.Dense(2))
            self.context = Context(first=self.blocks[0])

        def call(self, x):
            return self.context.first(x)

    stack = Stack()
    stack(X)
    assert len(stack.variables) == 2


def test_functions_and_what_trains_nothing_are_not_told():
    w = gx.Variable(1.0)

    class Odd:
        def __getattr__(self, name):
            raise RuntimeError(name)

    held = [
        lambda: w,
        functools.partial(lambda v: v, w),
        Helper().__init__,
        gx.jit(lambda: w + 1),
        np,
        Helper,
        Odd(),
        Context(optimizer=gx.optimizers.Adam(), numbers=[1, 2], array=np.ones(2)),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Holds(held).variables == []


class InClosure(gx.Layer):
    def __init__(self, keep=False):
        super().__init__()
        self.keep = keep

    def build(self, input_shape):
        kernel = self.add_weight((3, 2))
        if self.keep:
            self.kernel = kernel
        self.function = lambda x: x @ kernel

    def call(self, x):
        return self.function(x)


class UntrackedOnPurpose(InClosure):
    untracked = frozenset({"kernel"})


def test_a_weight_that_only_a_closure_holds_is_warned_of():
    with pytest.warns(UserWarning, match="InClosure made a weight by add_weight and holds it in no attribute"):
        InClosure()(np.ones((1, 3), "float32"))
    assert len(InClosure(keep=True)(np.ones((1, 3), "float32"))) == 1
    UntrackedOnPurpose(keep=True)(np.ones((1, 3), "float32"))
