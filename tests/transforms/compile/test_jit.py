"""gx.jit: what is traced when, what is donated, what survives, what is refused. FN cases of the semantics."""

import threading
from enum import IntEnum

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from graftax import ops
from graftax.core.errors import (
    CompileError,
    StateError,
)
from graftax.transforms.compile.compiled_function import CompiledFunction
from graftax.transforms.compile.jit import jit
from graftax.transforms.gradients.grad import value_and_grad
from graftax.variables.variable import Variable
from tests.transforms.compile.boxes import Box, Linear

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


@pytest.mark.broad
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


@pytest.mark.broad
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


@pytest.mark.broad
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


@pytest.mark.broad
def test_threads_compile_on_their_own():
    v = Variable(2.0)
    results = []
    threads = [threading.Thread(target=lambda k=k: results.append(float(jit(lambda x: x * v)(k)))) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [0.0, 2.0, 4.0, 6.0]
