"""What goes wrong in compiled functions, and what they say about it."""

import logging

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from graftax import ops
from graftax.backend import registry
from graftax.core.errors import (
    BackendCapabilityError,
    CompileError,
    StaleReadError,
    TracerLeakError,
)
from graftax.transforms.compile.jit import jit
from graftax.transforms.flow.branches import switch
from graftax.transforms.flow.scan import scan
from graftax.transforms.py_function import py_function
from graftax.variables.random import normal
from graftax.variables.variable import Variable
from tests.transforms.compile.boxes import Box, Linear

# --- errors ---------------------------------------------------------------------------------------------------------


def test_fn13_a_leaked_value():
    kept = []
    jit(lambda x: kept.append(x * 2) or x)(1.0)
    with pytest.raises(TypeError, match="after its trace had ended") as caught:
        jit(lambda x: x + kept[0])(1.0)
    assert isinstance(caught.value, TracerLeakError)
    assert "test_jit_errors.py:" in str(caught.value)
    with pytest.raises(TracerLeakError, match="traced value"):
        Variable(0.0).assign(kept[0])
    v = Variable(0.0)
    with pytest.raises(TracerLeakError):
        jit(lambda x: v.assign(kept[0]).value)(1.0)
    with pytest.raises((TracerLeakError, jax.errors.UnexpectedTracerError)):
        kept[0] + 1


def test_fn14_captured_python_values_that_change_lead_to_a_new_trace():
    numbers = [1.0]
    f = jit(lambda x: x * numbers[0])
    f(1.0)
    numbers[0] = 5.0
    assert (float(f(1.0)), float(f(1.0)), f.trace_count) == (5.0, 5.0, 2)


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


@pytest.mark.broad
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


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(
    "body",
    [ops.unique, ops.nonzero, lambda x: jnp.unique(x), lambda x: x[x > 1], lambda x: jnp.where(x)[0]],
    ids=["ops.unique", "ops.nonzero", "jnp.unique", "mask", "where"],
)
def test_fn2_shapes_that_depend_on_values(body):
    with pytest.raises(TypeError, match="size=n|which keeps the shape") as caught:
        jit(lambda x: body(x))(np.float32([1, 2, 2]))
    assert "test_jit_errors.py:" in str(caught.value)
    assert jit(lambda x: jnp.unique(x, size=2))(np.float32([1, 2, 2])).tolist() == [1.0, 2.0]


def test_fn4_an_index_out_of_range_raises_eagerly():
    x = ops.asarray([1.0, 2.0])
    with pytest.raises(IndexError):
        ops.take(x, 7)
    assert np.isnan(jit(lambda i: ops.take(x, i))(7))  # a program cannot raise
    assert float(jit(lambda i: switch(i, [lambda: 1.0, lambda: 2.0]))(7)) == 2.0
    with pytest.raises(IndexError):
        switch(7, [lambda: 1.0, lambda: 2.0])


@pytest.mark.broad
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
    with pytest.raises(TypeError, match=r"got no x"):
        f()
    with pytest.raises(TypeError, match="got z=2.0"):
        f(1.0, z=2.0)


@pytest.mark.broad
def test_fn10_a_later_trace_may_make_variables_that_are_kept():
    heads = {}

    @jit
    def f(x):
        head = heads.setdefault(x.shape[-1], Linear())
        return head(x)

    for columns in 3, 2, 3:
        assert f(np.ones((1, columns), "float32")).tolist() == [[columns, columns]]
    assert (len(heads), f.trace_count) == (2, 3)  # the dict has grown since the first trace, which may have counted
    heads[2].w.assign(heads[2].w * 5)
    assert f(np.ones((1, 2), "float32")).tolist() == [[10.0, 10.0]]


@pytest.mark.broad
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
    with pytest.raises(CompileError, match=r"test_jit_errors\.py:\d+: .*x") as caught:
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


@pytest.mark.broad
def test_a_compiled_function_in_a_foreign_trace():
    v = Variable(2.0)
    f = jit(lambda x: x * v)
    assert float(jax.grad(lambda x: f(x))(1.0)) == 2.0
    assert jax.vmap(f)(jnp.arange(3.0)).tolist() == [0.0, 2.0, 4.0]
    with pytest.raises(StaleReadError):
        jax.jit(lambda x: f(x))(1.0)
    assert float(jax.jit(lambda x: jit(lambda y: y * 2)(x))(3.0)) == 6.0  # no state, no matter


@pytest.mark.broad
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


@pytest.mark.broad
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
