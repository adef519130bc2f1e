"""gx.jit: what is traced when, what is donated, what survives, what is refused. FN cases of the semantics."""

import copy
import gc
import logging
import pickle
import signal
import sys
import threading
import time
import weakref
from dataclasses import dataclass
from enum import IntEnum

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from graftax import ops
from graftax.backend import registry
from graftax.backend.jax.transforms import JaxProgram
from graftax.core.errors import (
    BackendCapabilityError,
    CompileError,
    RetraceError,
    StaleReadError,
    StateError,
    TracerLeakError,
)
from graftax.layers.layer import Layer
from graftax.transforms.compile.jit import CompiledFunction, jit
from graftax.transforms.flow.branches import switch
from graftax.transforms.flow.scan import scan
from graftax.transforms.gradients.grad import grad, value_and_grad
from graftax.transforms.py_function import py_function
from graftax.variables.graph.module import Module
from graftax.variables.random import normal
from graftax.variables.state.storage import touch
from graftax.variables.variable import Variable


class Box(Module):
    """Takes any attributes."""

    def __init__(self, **attributes):
        for name, value in attributes.items():
            setattr(self, name, value)


class Linear(Layer):
    def build(self, input_shape):
        self.w = self.add_weight((input_shape[-1], 2), "ones", name="w")

    def call(self, x):
        return ops.matmul(x, self.w)


X = np.ones((2, 3), "float32")


# --- state ----------------------------------------------------------------------------------------------------------


def test_fn3_state_is_threaded():
    v = Variable(1.0)

    @jit
    def f():
        v.assign_add(2.0)
        return 2 * v

    assert [float(f()), float(v), float(f()), float(v)] == [6.0, 3.0, 10.0, 5.0]
    assert f.trace_count == 1


def test_fn16_program_order():
    v = Variable(1.0)

    @jit
    def f():
        v.assign(2.0)
        a = v + 0
        v.assign(3.0)
        return a, v

    assert [float(x) for x in f()] == [2.0, 3.0]


def test_values_assigned_outside_are_never_stale():
    v = Variable([1.0, 2.0])
    f = jit(lambda: v * 1)
    for value in ([3.0, 4.0], [5.0, 6.0]):
        v.assign(value)
        assert f().tolist() == value
    v[0] = 9.0
    assert f().tolist() == [9.0, 6.0]
    assert f.trace_count == 1


def test_a_variable_only_written():
    v = Variable([1.0, 2.0])

    @jit
    def f(x):
        v.assign(ops.stack([x, x]))

    f(ops.asarray(3.0))
    assert v.numpy().tolist() == [3.0, 3.0]


def test_two_variables_swap():
    a, b = Variable(1.0), Variable(2.0)

    @jit
    def swap():
        x, y = a.value, b.value
        a.assign(y)
        b.assign(x)

    swap()
    assert (float(a), float(b)) == (2.0, 1.0)
    swap()
    assert (float(a), float(b)) == (1.0, 2.0)


def test_a_compiled_training_step_is_that_of_plain_jax():
    w, m = Variable([1.0, -2.0, 0.5]), Variable([0.0, 0.0, 0.0], trainable=False)
    target = np.float32([0.3, 0.1, 0.2])

    @jit
    def step(rate):
        value, g = value_and_grad(lambda: ops.sum((w - target) ** 2), wrt=w)()
        m.assign(0.9 * m + g)
        w.assign_sub(rate * m.value)
        return value

    def plain(w, m):
        value, g = jax.value_and_grad(lambda w: ((w - target) ** 2).sum())(w)
        m = 0.9 * m + g
        return value, w - 0.1 * m, m

    pw, pm = jnp.asarray([1.0, -2.0, 0.5]), jnp.zeros(3)
    for _ in range(5):
        value, pw, pm = plain(pw, pm)
        np.testing.assert_allclose(step(0.1), value, rtol=1e-5)
    np.testing.assert_allclose(w.numpy(), pw, rtol=1e-5)
    np.testing.assert_allclose(m.numpy(), pm, rtol=1e-5)


# --- when it is traced ----------------------------------------------------------------------------------------------


def test_fn6_a_setting_of_jax_is_honoured():
    f = jit(lambda x: jax.lax.dot(x, x))
    x = np.ones((2, 2), "float32")
    f(x)
    with jax.default_matmul_precision("highest"):
        f(x)
    f(x)
    assert f.trace_count == 2


def test_fn5_fn6_traces_by_type_shape_and_dtype():
    f = jit(lambda x: x * 2)
    counts = []
    for x in (
        1,
        2,
        1,
        np.ones(2, "f4"),
        np.zeros(2, "f4"),
        np.ones(3, "f4"),
        1.0,
        2.0,
        True,
        np.float32(1),
        np.int32(1),
    ):
        out = f(x)
        np.testing.assert_array_equal(out, np.asarray(x) * 2)
        counts.append(f.trace_count)
    assert counts == [1, 1, 1, 2, 2, 3, 4, 4, 5, 6, 7]
    assert (f(1).dtype, f(1.0).dtype) == (jnp.int32, jnp.float32)


def test_static_arguments_are_told_apart_by_type_and_value():
    class Mode(IntEnum):
        ADD = 1
        SUB = 2

    @jit
    def f(x, mode, name=None, fn=None):
        x = x + 1 if mode is Mode.ADD else x - 1
        return fn(x) if fn is not None else (x if name is None else x * len(name))

    assert [float(f(1.0, Mode.ADD)), float(f(1.0, Mode.SUB)), float(f(1.0, Mode.ADD, name="abc"))] == [2.0, 0.0, 6.0]
    assert float(f(1.0, Mode.ADD, fn=jnp.sin)) == pytest.approx(np.sin(2))
    assert f.trace_count == 4
    f(5.0, Mode.ADD, name="abc")
    assert f.trace_count == 4


def test_what_cannot_be_hashed_is_refused():
    with pytest.raises(CompileError, match="must be hashable"):
        jit(lambda s: 1)({1, 2})


def test_modules_and_variables_are_static_and_can_be_assigned():
    @jit
    def update(variable, module, x):
        variable.assign_add(x)
        module.v.assign_sub(x)
        return variable * 1

    v, w, box = Variable(1.0), Variable(1.0), Box(v=Variable(0.0))
    assert (float(update(v, box, 2.0)), float(update(v, box, 2.0)), float(box.v)) == (3.0, 5.0, -4.0)
    assert update.trace_count == 1
    update(w, box, 1.0)
    assert (float(w), float(v), update.trace_count) == (2.0, 5.0, 2)


def test_structures_of_arguments():
    f = jit(lambda d, *rest, k=1.0: d["a"][0] + sum(rest) * k)
    assert float(f({"a": [1.0]}, 2.0, 3.0, k=2.0)) == 11.0
    assert float(f({"a": [1.0]}, 2.0, 3.0, k=3.0)) == 16.0
    assert f.trace_count == 1
    f({"a": (1.0,)}, 2.0, 3.0, k=3.0)
    assert f.trace_count == 2


def test_keeps_name_and_documentation():
    @jit
    def documented(x):
        """Doc."""
        return x

    documented(1.0)
    assert (documented.__name__, documented.__doc__) == ("documented", "Doc.")
    assert repr(documented).endswith("documented, traced 1 times>")
    assert isinstance(jit(max_retraces=1)(lambda: 1.0), CompiledFunction)
    with pytest.raises(CompileError, match="only functions"):
        jit(3)


# --- retraces -------------------------------------------------------------------------------------------------------


def expect_retrace(caplog, f, text, count=2):
    with caplog.at_level(logging.INFO, "graftax"):
        caplog.clear()
        result = f()
    assert [text in m for m in caplog.messages] == [True], caplog.messages
    assert f.trace_count == count
    caplog.clear()
    with caplog.at_level(logging.INFO, "graftax"):
        f()
    assert (caplog.messages, f.trace_count) == ([], count)
    return result


class Net(Module):
    rate = 1.0

    def __init__(self):
        self.v = Variable(2.0)
        self.parts = [Box(k=1.0), Box(k=2.0)]
        self.table = {"a": Box(k=1.0)}

    def __call__(self):
        for box in (*self.parts, *self.table.values()):
            touch(box)
        return self.v * self.rate * sum(p.k for p in self.parts) * sum(p.k for p in self.table.values())


def test_a_plain_attribute(caplog):
    net = Net()
    net.rate = 2.0
    f = jit(lambda: net())
    assert float(f()) == 12.0
    net.rate = 3.0
    assert float(expect_retrace(caplog, f, "Net.rate: 2.0 -> 3.0")) == 18.0


def test_a_class_default_that_an_instance_overrides(caplog):
    net = Net()
    f = jit(lambda: net())
    assert float(f()) == 6.0
    net.rate = 5.0
    assert float(expect_retrace(caplog, f, "Net.rate: absent -> 5.0")) == 30.0


def test_an_attribute_of_a_part(caplog):
    net = Net()
    f = jit(lambda: net())
    f()
    net.parts[1].k = 5.0
    assert float(expect_retrace(caplog, f, "parts/1.k: 2.0 -> 5.0")) == 12.0


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda n: n.parts.append(Box(k=4.0)), 14.0),
        (lambda n: n.parts.pop(), 2.0),
        (lambda n: n.parts.__setitem__(0, Box(k=10.0)), 24.0),
        (lambda n: n.table.update(a=Box(k=3.0)), 18.0),
        (lambda n: n.table.update(b=Box(k=3.0)), 24.0),
        (lambda n: setattr(n, "parts", [Box(k=1.0)]), 2.0),
    ],
    ids=["append", "pop", "replace", "replace in dict", "add to dict", "another list"],
)
def test_the_content_of_containers(change, expected):
    net = Net()
    f = jit(lambda: net())
    f()
    change(net)
    gc.collect()
    assert (float(f()), f.trace_count) == (expected, 2)
    f()
    assert f.trace_count == 2


def test_an_element_replaced_by_one_with_the_same_address():
    net = Net()
    f = jit(lambda: net())
    f()
    for k in range(20):  # freed and made again, many at the same address
        net.parts.pop()
        net.parts.append(Box(k=float(k)))
        assert float(f()) == 2.0 * (1.0 + k)


def test_equal_content_traces_nothing():
    net = Net()
    net.sizes = [1, 2]
    f = jit(lambda: net())
    f()
    net.sizes = [1, 2]
    net.rate = 1.0
    net.note = "x"
    del net.note
    f()
    assert f.trace_count <= 2
    before = f.trace_count
    net.rate = 1.0
    net.sizes[0] = 1
    f()
    assert f.trace_count == before


def test_functions_as_attributes():
    box = Box(act=lambda x: x * 2, v=Variable(1.0))
    f = jit(lambda: box.act(box.v.value))
    assert float(f()) == 2.0
    for k in (3.0, 4.0, 5.0):
        box.act = lambda x: x * 0
        box.act = lambda x, k=k: x * k  # perhaps at the address of the one before
        assert float(f()) == k


def test_trainable(caplog):
    box = Box(a=Variable(2.0), b=Variable(3.0))
    f = jit(lambda: value_and_grad(lambda: box.a * box.b, wrt=box)()[1])
    assert sorted(f()) == ["a", "b"]
    box.b.trainable = False
    assert sorted(expect_retrace(caplog, f, "b.trainable: True -> False")) == ["a"]
    box.b.trainable = True
    assert sorted(f()) == ["a", "b"]
    assert f.trace_count == 2  # the first trace is still there


def test_trainable_of_lone_variables_even_unread_ones():
    variables = [Variable(2.0), Variable(3.0, trainable=False)]
    f = jit(lambda: grad(lambda: variables[0] * 5.0, wrt=[v for v in variables if v.trainable])())
    assert len(f()) == 1
    variables[1].trainable = True
    assert len(f()) == 2


def test_freezing_to_and_fro_as_adversarial_training_does():
    generator, critic = Box(w=Variable(1.0)), Box(w=Variable(1.0))
    step = jit(lambda: len(value_and_grad(lambda: generator.w * critic.w, wrt=[generator, critic])()[1][0]) * 1.0)
    for _ in range(5):
        for frozen in (True, False):
            generator.trainable = not frozen
            assert float(step()) == (0.0 if frozen else 1.0)
    assert step.trace_count == 2


def test_modules_made_inside_do_not_matter():
    f = jit(lambda x: (touch(Box(k=2)), x * 2)[1])
    assert [float(f(1.0)), float(f(2.0)), f.trace_count] == [2.0, 4.0, 1]


def test_new_modules_elsewhere_cost_nothing():
    net = Net()
    f = jit(lambda: net())
    f()
    ((entry,),) = f._entries.values()
    version = entry._version
    other = Net()
    other.rate = 5.0
    f()
    assert entry._version == version


def test_arguments(caplog):
    f = jit(lambda x: x * 2)
    f(np.ones(2, "float32"))
    with caplog.at_level(logging.INFO, "graftax"):
        f(np.ones(3, "float32"))
        f(np.ones(3, "int32"))
        f(1.0)
    assert "argument x: float32[2] -> float32[3]" in caplog.messages[0]
    assert "argument x: float32[3] -> int32[3]" in caplog.messages[1]
    assert "-> a Python float" in caplog.messages[2]
    assert "lambda" in caplog.messages[0]
    assert "traced again (2)" in caplog.messages[0]


def test_max_retraces():
    f = jit(lambda x: x * 2, max_retraces=1)
    f(np.ones(1))
    f(np.ones(2))
    with pytest.raises(RetraceError, match=r"once more after 2 traces: argument x: .*\[2\] -> .*\[3\]"):
        f(np.ones(3))
    assert f(np.ones(2)).tolist() == [2.0, 2.0]


def test_a_structure_change_inside_a_nested_compiled_function_is_seen_outside():
    box, v = Box(rate=2.0), Variable(3.0)
    inner = jit(lambda: (touch(box), v * box.rate)[1])
    outer = jit(lambda: value_and_grad(lambda: inner() * 1.0, wrt=v)())
    assert [float(x) for x in outer()] == [6.0, 2.0]
    box.rate = 5.0
    assert [float(x) for x in outer()] == [15.0, 5.0]


# --- building inside ------------------------------------------------------------------------------------------------


def test_fn12_one_trace_even_if_it_builds():
    layer, runs = Linear(), []

    @jit
    def f(x):
        runs.append(1)
        return layer(x)

    assert f(X).tolist() == [[3.0, 3.0]] * 2
    layer.w.assign(np.full((3, 2), 2.0, "float32"))
    assert f(X).tolist() == [[6.0, 6.0]] * 2
    assert (len(runs), f.trace_count) == (1, 1)


def test_building_inside_a_gradient_a_scan_and_a_vmap():
    for wrap in (
        lambda g: lambda: value_and_grad(lambda x: ops.sum(g(x)))(X)[0],
        lambda g: lambda: jax.lax.scan(lambda c, x: (c + g(x).sum(), None), 0.0, jnp.asarray(X)[None])[0],
        lambda g: lambda: jax.vmap(g)(jnp.asarray(X)[None]).sum(),
    ):
        layer = Linear()
        f = jit(wrap(layer))
        assert (float(f()), float(f()), f.trace_count) == (12.0, 12.0, 1)
        layer.w.assign(layer.w * 2)
        assert float(f()) == 24.0


def test_fn9_a_variable_that_nobody_keeps_is_refused():
    @jit
    def f(x):
        local = Variable(0.0)
        local.assign_add(x)
        return local.value

    with pytest.raises(StateError, match="makes a Variable .* that nobody keeps"):
        f(1.0)


# --- errors ---------------------------------------------------------------------------------------------------------


def test_fn13_a_leaked_value():
    kept = []
    jit(lambda x: kept.append(x * 2) or x)(1.0)
    with pytest.raises(TypeError, match="trace that is over") as caught:
        jit(lambda x: x + kept[0])(1.0)
    assert isinstance(caught.value, TracerLeakError)
    assert "test_jit.py:" in str(caught.value)
    with pytest.raises(TracerLeakError, match="traced value"):
        Variable(0.0).assign(kept[0])
    v = Variable(0.0)
    with pytest.raises(TracerLeakError):
        jit(lambda x: v.assign(kept[0]).value)(1.0)
    with pytest.raises((TracerLeakError, jax.errors.UnexpectedTracerError)):
        kept[0] + 1


def test_fn14_captured_python_values_are_those_of_the_trace():
    numbers = [1.0]
    f = jit(lambda x: x * numbers[0])
    f(1.0)
    numbers[0] = 5.0
    assert float(f(1.0)) == 1.0  # what changes must be an argument, an attribute or a Variable


def test_fn17_exceptions_keep_their_type():
    class Mine(Exception):
        pass

    @jit
    def f(x):
        raise Mine("here")

    with pytest.raises(Mine, match="here") as caught:
        f(1.0)
    assert 'raise Mine("here")' in str(caught.traceback[-1].statement)
    assert f.trace_count == 0


def test_fn1_it_compiles_or_raises():
    v = Variable([1.0])

    def secret(x):
        return x

    for body, text in (
        (lambda x: py_function(secret, [x]), "secret"),
        (lambda x: "text", "'text' of type str"),
        (lambda x: x + v.numpy(), r"v\.numpy\(\)"),
        (lambda x: x + np.asarray(x), r"np\.asarray\(x\)"),
        (lambda x: f"{x:.2f}" and x, r"needs the value|unsupported format"),
    ):
        f = jit(body)
        for _ in range(2):  # not on second thoughts, either
            with pytest.raises(TypeError, match=text):
                f(1.0)
        assert f.trace_count == 0


@pytest.mark.parametrize(
    "body",
    [ops.unique, ops.nonzero, lambda x: jnp.unique(x), lambda x: x[x > 1], lambda x: jnp.where(x)[0]],
    ids=["ops.unique", "ops.nonzero", "jnp.unique", "mask", "where"],
)
def test_fn2_shapes_that_depend_on_values(body):
    with pytest.raises(TypeError, match="size=n|which keeps the shape") as caught:
        jit(lambda x: body(x))(np.float32([1, 2, 2]))
    assert "test_jit.py:" in str(caught.value)
    assert jit(lambda x: jnp.unique(x, size=2))(np.float32([1, 2, 2])).tolist() == [1.0, 2.0]


def test_fn4_an_index_out_of_range_raises_eagerly():
    x = ops.asarray([1.0, 2.0])
    with pytest.raises(IndexError):
        ops.take(x, 7)
    assert np.isnan(jit(lambda i: ops.take(x, i))(7))  # a program cannot raise
    assert float(jit(lambda i: switch(i, [lambda: 1.0, lambda: 2.0]))(7)) == 2.0
    with pytest.raises(IndexError):
        switch(7, [lambda: 1.0, lambda: 2.0])


def test_fn7_many_traces_are_warned_of_once(caplog):
    f = jit(lambda x: x * 2)
    with caplog.at_level(logging.WARNING, "graftax"):
        for n in range(1, 9):
            f(np.ones(n, "float32"))
            assert len(caplog.messages) == (n >= 6)  # the fifth time that it is traced again
    assert "ops.pad" in caplog.messages[0]


def test_fn8_lists_are_structures_and_arguments_those_of_the_function():
    f = jit(lambda x, y=1.0: ops.asarray(x[0]) * y)
    assert (float(f([1.0, 2.0])), float(f([3.0, 4.0])), f.trace_count) == (1.0, 3.0, 1)
    assert float(f(np.float32([1, 2]), 2.0)) == 2.0
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        f()
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        f(1.0, z=2.0)


def test_fn10_a_later_trace_may_make_variables_that_are_kept():
    heads = {}

    @jit
    def f(x):
        head = heads.setdefault(x.shape[-1], Linear())
        return head(x)

    for columns in 3, 2, 3:
        assert f(np.ones((1, columns), "float32")).tolist() == [[columns, columns]]
    assert (len(heads), f.trace_count) == (2, 2)
    heads[2].w.assign(heads[2].w * 5)
    assert f(np.ones((1, 2), "float32")).tolist() == [[10.0, 10.0]]


def test_fn15_random_numbers_of_numpy_are_those_of_the_trace():
    f = jit(lambda: (np.random.default_rng().normal(), normal(())))
    (frozen, first), (again, second) = f(), f()
    assert float(frozen) == float(again)
    assert float(first) != float(second)


def test_fn22_traces_are_counted():
    f = jit(lambda x: x * 2)
    for n, expected in (2, 1), (2, 1), (3, 2):
        f(np.ones(n))
        assert f.trace_count == expected
    f.lower(np.ones(4))  # a trace without a run
    f(np.ones(4))
    assert f.trace_count == 3


@pytest.mark.parametrize(
    "body",
    [
        lambda x: x if x > 0 else -x,
        lambda x: float(x),
        lambda x: [1, 2][x.astype("int32")],
        lambda x: np.sin(x),
        lambda x: list(range(int(x))),
        lambda x: ops.ones(3)[ops.ones(3) * x > 0],
    ],
    ids=["if", "float", "index", "numpy", "range", "mask"],
)
def test_fn18_decisions_on_values_name_the_line_and_the_way_out(body):
    with pytest.raises(CompileError, match=r"test_jit\.py:\d+: .*x") as caught:
        jit(body)(np.float32(1))
    assert "ops.where" in str(caught.value)
    assert "graftax.cond" in str(caught.value)


def test_fn19_outputs():
    Variable(1.0)
    v = Variable([1.0])
    f = jit(lambda x: {"a": [x, None], "n": 3, "b": True, "v": v, "np": np.ones(2, "float32"), "t": (x.shape,)})
    out = f(np.ones(2, "float32"))
    assert out["a"][1] is None
    assert (int(out["n"]), bool(out["b"]), out["v"].tolist(), out["np"].tolist()) == (3, True, [1.0], [1.0, 1.0])
    assert jax.tree.map(int, out["t"]) == ((2,),)
    assert jit(lambda: None)() is None
    for bad in ("text", object(), Box()):
        with pytest.raises(CompileError, match="a compiled function returns arrays"):
            jit(lambda bad=bad: bad)()


def test_the_reference_backend_says_that_it_does_not_compile():
    with registry.use("numpy"), pytest.raises(BackendCapabilityError, match="numpy"):
        jit(lambda x: x)(1.0)


def test_a_compiled_function_in_a_foreign_trace():
    v = Variable(2.0)
    f = jit(lambda x: x * v)
    assert float(jax.grad(lambda x: f(x))(1.0)) == 2.0
    assert jax.vmap(f)(jnp.arange(3.0)).tolist() == [0.0, 2.0, 4.0]
    with pytest.raises(StaleReadError):
        jax.jit(lambda x: f(x))(1.0)
    assert float(jax.jit(lambda x: jit(lambda y: y * 2)(x))(3.0)) == 6.0  # no state, no matter


def test_plain_jax_inside_reads_variables_and_is_not_shared_between_traces():
    v = Variable(2.0)

    def body(c, x):
        return c + x * v.value, None

    inner = jax.jit(lambda x: x * v.value)
    remat = jax.checkpoint(lambda x: jnp.sin(x * v.value))
    for make in (
        lambda k: jit(lambda x: jax.lax.scan(body, 0.0, x)[0] * k),
        lambda k: jit(lambda x: inner(x).sum() * k),
        lambda k: jit(lambda x: jax.vmap(body, (None, 0))(0.0, x)[0].sum() * k),
    ):
        v.assign(2.0)
        f, g = make(1.0), make(10.0)
        assert (float(f(np.ones(3, "f4"))), float(g(np.ones(3, "f4")))) == (6.0, 60.0)
        v.assign(3.0)
        assert (float(f(np.ones(3, "f4"))), float(g(np.ones(3, "f4")))) == (9.0, 90.0)
        assert float(f(np.ones(4, "f4"))) == 12.0
    for k in (1.0, 2.0):
        f = jit(lambda x, k=k: jax.grad(remat)(x) * k)
        assert float(f(1.0)) == pytest.approx(3 * np.cos(3) * k)


def test_plain_jax_inside_reads_what_was_assigned_between_two_calls():
    v = Variable(1.0)
    inner = jax.jit(lambda x: x * v.value)

    @jit
    def f(x):
        first = inner(x)
        v.assign(v * 5)
        part = scan(lambda c, y: (c + inner(y), None), 0.0, x[None])[0]
        v.assign(v + 1)
        return first, part, inner(x)

    assert [float(y) for y in f(np.float32(1))] == [1.0, 5.0, 6.0]
    assert [float(y) for y in f(np.float32(1))] == [6.0, 30.0, 31.0]
    assert float(scan(lambda c, y: (c + inner(y), None), 0.0, np.float32([1]))[0]) == 31.0
    v.assign(2.0)
    assert float(scan(lambda c, y: (c + inner(y), None), 0.0, np.float32([1]))[0]) == 2.0


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


# --- donation -------------------------------------------------------------------------------------------------------


def test_exactly_the_written_ones_are_donated():
    written, read, only_written = (Variable(np.ones(4, "float32")) for _ in range(3))

    @jit
    def f(x):
        written.assign(written * x)
        only_written.assign(read * x)

    f(2.0)
    ((entry,),) = f._entries.values()
    assert [s.user is written for s in entry.donated] == [True]
    assert [s.user is read for s in entry.kept] == [True]
    assert [s.user is v for s, v in zip(entry.written, (written, only_written), strict=True)] == [True, True]
    given = []
    real = entry.program

    class Spy:
        def run_donating(self, donated, kept, leaves):
            results = real.run_donating(donated, kept, leaves)
            given.extend(a.is_deleted() for a in (*donated, *kept))
            return results

    entry.program = Spy()
    f(2.0)
    assert given == [True, False]


def test_a_donated_buffer_is_used_for_the_new_value():
    v = Variable(np.ones(100_000, "float32"))

    @jit
    def f(x):
        v.assign(v * x)

    f(2.0)
    f(2.0)
    pointers = set()
    for _ in range(6):
        f(1.0)
        pointers.add(v._storage.buffer.unsafe_buffer_pointer())
    assert len(pointers) == 1


def test_a_value_read_before_stays_readable():
    v = Variable([1.0, 2.0])
    f = jit(lambda: v.assign(v * 2).value)
    f()
    kept = [v.value]
    for _ in range(4):
        f()
        kept.append(v.value)
    assert [k.tolist() for k in kept] == [[2.0**n, 2.0 ** (n + 1)] for n in range(1, 6)]


def test_numpy_views_stay_as_they_were():
    v = Variable(np.zeros(10_000, "float32"))
    f = jit(lambda: v.assign(v + 1).value.sum())
    f()
    views = []
    for _ in range(4):
        views.append(v.numpy())
        f()
    assert [view[0] for view in views] == [1.0, 2.0, 3.0, 4.0]


def test_two_variables_with_one_array():
    shared = jnp.ones(3)
    a, b = Variable(shared), Variable(shared)
    a.assign(shared)
    b.assign(shared)
    f = jit(lambda: (a.assign(a * 2).value, b.assign(b * 3).value))
    f()
    f()
    assert (a.numpy().tolist(), b.numpy().tolist(), shared.tolist()) == ([4.0] * 3, [9.0] * 3, [1.0] * 3)


def test_one_of_two_variables_with_one_array_is_only_read():
    a, b = Variable(np.ones(3, "f4")), Variable(np.ones(3, "f4"))
    b.assign(a.value)
    f = jit(lambda: a.assign(a + b).value)
    f()
    assert f().tolist() == [3.0] * 3
    assert b.numpy().tolist() == [1.0] * 3


def test_a_variables_value_as_an_argument():
    v = Variable([1.0, 2.0])
    f = jit(lambda x: v.assign(v + x).value)
    for n in (2.0, 4.0, 8.0):
        assert f(v.value).tolist() == [n, 2 * n]


def test_an_argument_that_becomes_the_value():
    v = Variable([0.0, 0.0])
    f = jit(lambda x: v.assign(x).value)
    g = jit(lambda: v.assign(v * 2).value)
    x = jnp.ones(2)
    f(x)
    g()
    assert (x.tolist(), v.numpy().tolist()) == ([1.0, 1.0], [2.0, 2.0])


def test_a_value_returned_by_the_step_stays_readable():
    v = Variable([1.0, 2.0])
    f = jit(lambda: v.assign(v * 2))
    outs = [f() for _ in range(4)]
    assert [o.tolist() for o in outs] == [[2.0**n, 2.0 ** (n + 1)] for n in range(1, 5)]


# --- fn23: whatever happens, every Variable has a value -------------------------------------------------------------


def test_fn23_an_exception_while_tracing():
    v = Variable([1.0])

    @jit
    def f(x):
        v.assign(v * x)
        raise ZeroDivisionError

    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            f(2.0)
    assert v.numpy().tolist() == [1.0]


@pytest.mark.parametrize("where", ["top", "scan", "cond"])
@pytest.mark.filterwarnings("ignore")
def test_fn23_an_exception_at_run_time(where, caplog):
    v, fail = Variable([1.0, 2.0]), [False]

    def call(x):
        if fail[0]:
            raise ValueError("boom")
        return x

    def callback(x):
        return jax.pure_callback(call, jax.ShapeDtypeStruct((), jnp.float32), x)

    @jit
    def f():
        v.assign(v + 1)
        x = v.value.sum()
        if where == "scan":
            x = jax.lax.scan(lambda c, _: (callback(c), None), x, None, length=2)[0]
        elif where == "cond":
            x = jax.lax.cond(x > 0, callback, lambda x: x, x)
        else:
            x = callback(x)
        v.assign(v + x)
        return x

    assert float(f()) == 5.0
    before = v.numpy().tolist()
    fail[0] = True
    with pytest.raises(Exception, match="boom"):
        f()
    assert v.numpy().tolist() == before
    fail[0] = False
    f()
    assert v.numpy().tolist() != before


def test_fn23_debug_nans():
    v = Variable([1.0])
    f = jit(lambda x: v.assign(v / x).value)
    f(1.0)
    v.assign([0.0])
    with jax.debug_nans(True), pytest.raises(FloatingPointError):
        f(0.0)
    assert v.numpy().tolist() == [0.0]


def test_fn23_ctrl_c_at_the_first_run(monkeypatch):
    v = Variable([1.0])
    f = jit(lambda: v.assign(v * 2).value)
    real = JaxProgram.run_donating.fget

    def interrupted(program):
        def run(*args):
            results = real(program)(*args)
            signal.raise_signal(signal.SIGINT)  # the buffers are given away, the results not yet in place
            return results

        return run

    monkeypatch.setattr(JaxProgram, "run_donating", property(interrupted))
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        f()
    assert v.numpy().tolist() == [2.0]
    assert signal.getsignal(signal.SIGINT) is before


def is_interrupted(f, delay):
    """Run for at most a second; JAX loses an interrupt that comes while it calls Python to free something."""
    try:
        signal.setitimer(signal.ITIMER_REAL, delay)  # once
        end = time.monotonic() + 1
        while time.monotonic() < end:
            f()
    except KeyboardInterrupt:
        return True
    return False


def test_fn23_ctrl_c_at_any_time(monkeypatch):
    # One that comes while Python collects garbage or frees something goes to this hook, and is lost.
    monkeypatch.setattr(sys, "unraisablehook", lambda args: None)
    variables = [Variable(np.zeros(16, "float32")) for _ in range(40)]

    @jit
    def f():
        for v in variables:
            v.assign(v + 1)

    f()
    f()
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    hits = 0
    try:
        for delay in np.random.default_rng(0).uniform(1e-4, 3e-3, size=150):
            hits += is_interrupted(f, delay)
            assert len({float(v.numpy()[0]) for v in variables}) == 1  # all of one step
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert hits > 100


def test_fn23_lost_on_the_device_is_said():
    v = Variable([1.0], name="w")
    f = jit(lambda: v.assign(v * 2).value)
    f()
    ((entry,),) = f._entries.values()

    class Broken:
        def run_donating(self, donated, kept, leaves):
            donated[0].delete()
            raise RuntimeError("out of memory")

    entry.program = Broken()
    with pytest.raises(StateError, match="Variables w were lost with it: out of memory"):
        f()


# --- nested ---------------------------------------------------------------------------------------------------------


def test_nested_compiled_functions_are_one_program():
    v = Variable(1.0)
    inner = jit(lambda x: v.assign_add(x).value)
    outer = jit(lambda x: inner(x) + inner(x))
    assert (float(outer(1.0)), float(v)) == (5.0, 3.0)
    assert (float(outer(1.0)), float(v)) == (9.0, 5.0)
    assert (outer.trace_count, inner.trace_count) == (1, 0)
    assert (float(inner(1.0)), inner.trace_count) == (6.0, 1)


def test_compiled_inside_an_eager_gradient():
    w, mean = Variable([1.0, 2.0]), Variable(0.0, trainable=False)

    @jit
    def loss(x):
        mean.assign(0.5 * mean + 0.5 * ops.sum(w * x))
        return ops.sum(w * w * x)

    step = value_and_grad(loss, wrt=w)
    value, gradient = step(3.0)
    assert (float(value), gradient.tolist(), float(mean)) == (15.0, [6.0, 12.0], 4.5)
    w.assign([2.0, 2.0])
    assert (float(step(1.0)[0]), float(mean), loss.trace_count) == (8.0, 4.25, 1)


def test_threads_compile_on_their_own():
    v = Variable(2.0)
    results = []
    threads = [threading.Thread(target=lambda k=k: results.append(float(jit(lambda x: x * v)(k)))) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [0.0, 2.0, 4.0, 6.0]
