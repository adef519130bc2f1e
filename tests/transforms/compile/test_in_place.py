"""What changes in place, without an attribute being assigned, is seen: arrays and sets, of layers and of weights."""

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.reparam.base import Reparam
from graftax.variables.graph.containers import COMPARED_BYTES


class Masked(gx.Layer):
    def __init__(self, mask, names=("a",)):
        super().__init__()
        self.mask = mask
        self.names = set(names)

    def call(self, x):
        return x * np.ravel(self.mask)[:2].astype("float32") + len(self.names)


X = np.ones((1, 2), "float32")
MASKS = {
    "float32": np.ones(2, "float32"),
    "bool": np.ones(2, bool),
    "largest": np.ones(COMPARED_BYTES // 4, "float32"),
    "several axes": np.ones((2, 3, 4)),
    "view": np.ones(8, "float32")[::2],
}


@pytest.mark.in_turn(6)
@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
@pytest.mark.parametrize("call", ["predict", "jit", "eager"])
def test_a_change_inside_of_an_array_is_seen(mask, call):
    layer = Masked(mask.copy() if mask.base is None else mask)
    model = gx.Sequential([layer])
    f = {"predict": lambda x: model.predict(x, verbose=0), "jit": gx.jit(model), "eager": model}[call]
    before = np.asarray(f(X)).tolist()
    layer.mask.flat[0] = 0
    assert [before, np.asarray(f(X)).tolist()] == [[[2.0, 2.0]], [[1.0, 2.0]]]
    layer.mask.flat[0] = 1
    assert np.asarray(f(X)).tolist() == [[2.0, 2.0]]


def test_a_change_through_a_view_and_in_a_container_is_seen():
    box, base = gx.Module(), np.ones(4, "float32")
    box.held = {"masks": [(base[:2],)]}
    box.held["masks"][0][0].flags.writeable = False  # what it is a view of can be written
    f = gx.jit(lambda x: x * box.held["masks"][0][0])
    f(X)
    base[0] = 5
    assert np.asarray(f(X)).tolist() == [[5.0, 1.0]]
    assert f.trace_count == 2


@pytest.mark.broad
def test_a_change_of_a_set_is_seen():
    layer = Masked(np.ones(2, "float32"))
    f = gx.jit(layer)
    found = [float(f(X)[0, 0])]
    layer.names.add("b")
    found.append(float(f(X)[0, 0]))
    layer.names.add(gx.Module)
    found.append(float(f(X)[0, 0]))
    layer.names.clear()
    assert [*found, float(f(X)[0, 0])] == [2.0, 3.0, 4.0, 1.0]
    layer.names = {"a"}  # as at first
    assert float(f(X)[0, 0]) == 2.0
    assert f.trace_count == 4


def test_a_change_inside_of_an_array_of_an_expression_is_seen():
    class Kept(Reparam):
        def __init__(self, next_creator, spec):
            super().__init__(spec)
            self.mask = np.ones(spec.shape, "float32")
            self.root = next_creator(spec.replace(name="root"))

        def forward(self):
            return self.root * self.mask

    with gx.variable_creator_scope(Kept):
        w = gx.Variable([1.0, 2.0])
    f = gx.jit(lambda: ops.sum(w.value))
    before = float(f())
    w.mask[1] = 0
    assert (before, float(f()), float(ops.sum(w.value))) == (3.0, 1.0, 1.0)


def test_a_read_only_array_and_an_array_that_is_replaced_by_its_like_cost_no_trace():
    layer = Masked(np.ones(2, "float32"))
    layer.mask.flags.writeable = False
    f = gx.jit(layer)
    f(X)
    layer.mask = np.ones(2, "float32")
    f(X)
    assert f.trace_count == 1
    layer.mask = np.ones(2, "float64")  # another dtype is another program
    f(X)
    assert f.trace_count == 2


def test_of_a_larger_array_only_a_new_one_is_seen():
    # as the documentation of jit says
    layer = Masked(np.ones(COMPARED_BYTES, "float32"))
    f = gx.jit(layer)
    f(X)
    layer.mask[0] = 0
    f(X)
    assert f.trace_count == 1
    layer.mask = layer.mask.copy()
    assert np.asarray(f(X)).tolist() == [[1.0, 2.0]]


def test_an_array_that_the_function_changes_is_seen_by_the_next_call():
    def make():
        layer = Masked(np.ones(2, "float32"))

        def f():
            y = layer(X)
            layer.mask[0] = 0
            return y

        return f

    eager, compiled = make(), gx.jit(make())
    assert [np.asarray(compiled()).tolist() for _ in range(3)] == [np.asarray(eager()).tolist() for _ in range(3)]
