"""py_function: Python with real values from anywhere; names carry the ids of the semantics notes."""

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.core.errors import ArgumentError, CompileError, DTypeError, GradientError, ShapeError, StateError

SCALAR = gx.ArraySpec(())


def announced(fn, output=SCALAR):
    """The call of a function of that output, as a function."""
    return lambda *args: gx.py_function(fn, args, output)


def plain(fn):
    return fn


def compiled(fn):
    return gx.jit(fn, allow_callback=True)


modes = pytest.mark.parametrize("mode", [plain, compiled], ids=["eager", "compiled"])


def square(x):
    return x * x if float(x) > 0 else -x * x


def custom_error(x):
    raise LookupError(f"no {float(x)}")


@pytest.mark.in_turn(2)
@modes
def test_pf1_gradients_flow_also_of_second_order(mode):
    f = announced(square)
    assert float(mode(f)(3.0)) == 9.0
    assert [float(v) for v in mode(gx.value_and_grad(f))(-3.0)] == [-9.0, 6.0]
    assert float(mode(gx.grad(gx.grad(lambda x: f(x) * x)))(3.0)) == 18.0


def test_pf1_under_a_tape():
    w = gx.Variable(3.0)
    for output in SCALAR, None:
        with gx.GradientTape() as tape:
            y = gx.py_function(square, [w], output) * 2
        assert float(tape.gradient(y, w)) == 12.0


def test_pf1_what_goes_through_numpy_has_no_gradient_and_says_so():
    f = announced(lambda v: np.asarray(v) * 2)
    assert float(f(2.0)) == 4.0
    with pytest.raises(GradientError, match="what NumPy"):
        gx.grad(f)(2.0)
    half = announced(lambda v: v * np.asarray(v))
    assert float(gx.grad(half)(3.0)) == 3.0, "as on a tape"


@pytest.mark.broad
@modes
def test_integers_structures_and_several_results(mode):
    def fn(x, n):
        return {"a": x * int(n), "b": [ops.sum(x), n + 1]}

    output = {"a": gx.ArraySpec((2,)), "b": [SCALAR, gx.ArraySpec((), "int32")]}
    f = announced(fn, output)
    found = mode(f)(np.float32([1, 2]), 3)
    assert (found["a"].tolist(), float(found["b"][0]), int(found["b"][1])) == ([3.0, 6.0], 3.0, 4)
    gradient = mode(gx.grad(lambda x, n: ops.sum(f(x, n)["a"]) + f(x, n)["b"][0]))(np.float32([1, 2]), 3)
    assert gradient.tolist() == [4.0, 4.0]


@modes
def test_pf2_dtypes_are_converted_only_if_nothing_is_lost(mode):
    def call(result, dtype):
        return mode(lambda x: gx.py_function(lambda _: result, [x], gx.ArraySpec((), dtype)))

    assert call(np.int8(1), "int32")(1.0).dtype == "int32"
    assert call(1, "float32")(1.0).dtype == "float32"
    for result, dtype in (np.int32(1), "float32"), (1.5, "int32"), (np.float32(1), "int32"):
        with pytest.raises(DTypeError if mode is plain else Exception, match="announced"):
            np.asarray(call(result, dtype)(1.0))


def test_pf3_the_original_exception_eagerly_in_gradients_and_under_a_tape():
    with pytest.raises(LookupError, match=r"no 2\.0"):
        gx.py_function(custom_error, [2.0], SCALAR)
    with pytest.raises(LookupError, match=r"no 2\.0"):
        gx.grad(lambda x: gx.py_function(custom_error, [x], SCALAR))(2.0)
    v = gx.Variable(2.0)
    with gx.GradientTape(), pytest.raises(LookupError, match=r"no 2\.0"):
        gx.py_function(custom_error, [v], SCALAR)


def test_pf3_compiled_it_is_the_original_exception_and_variables_are_kept():
    v = gx.Variable(1.0)

    @compiled
    def step(x):
        v.assign_add(1.0)
        return gx.py_function(custom_error, [x], SCALAR)

    for x in 2.0, 3.0:
        with pytest.raises(LookupError, match=f"no {x}"):
            step(x)
    assert float(v) == 1.0


@modes
def test_pf4_no_results(mode):
    seen = []
    f = mode(lambda x: (gx.py_function(lambda v: seen.append(float(v)), [x], ()), x * 2))
    assert f(1.0)[0] == ()
    assert float(f(2.0)[1]) == 4.0
    pytest.importorskip("jax").effects_barrier()
    assert seen == [1.0, 2.0]


def test_pf5_shapes_are_announced_or_found_by_an_abstract_run():
    f = compiled(lambda x: gx.py_function(lambda v: ops.stack([v, v]), [x]))
    assert f(2.0).tolist() == [2.0, 2.0]
    with pytest.raises(CompileError, match="could not be found out") as caught:
        compiled(lambda x: gx.py_function(square, [x]))(2.0)
    assert "output=graftax.ArraySpec" in str(caught.value)
    with pytest.raises(ShapeError, match=r"'output/a' has shape \(2,\), \(3,\) was announced"):
        gx.py_function(lambda: {"a": np.ones(2)}, (), {"a": gx.ArraySpec((3,))})
    with pytest.raises(ArgumentError, match="output/1"):
        gx.py_function(lambda: [1.0, 2.0], (), [SCALAR])


@modes
def test_pf6_compiled_only_if_allowed(mode):
    f = gx.jit(lambda x: gx.py_function(square, [x], SCALAR))
    for _ in range(2):
        with pytest.raises(CompileError, match="allow_callback=True"):
            f(2.0)

    class Model(gx.Module):
        @gx.jit(allow_callback=True)
        def step(self, x):
            return gx.cond(x > 0, lambda: gx.py_function(square, [x], SCALAR), lambda: x)

    assert [float(Model().step(x)) for x in (2.0, -2.0)] == [4.0, -2.0]


@pytest.mark.broad
@modes
def test_vm9_rows_run_one_after_the_other(mode):
    f = mode(lambda x: gx.vectorized_map(lambda v: gx.py_function(square, [v], SCALAR), x))
    assert f(np.float32([1, -2, 3])).tolist() == [1.0, -4.0, 9.0]
    g = mode(gx.grad(lambda x: ops.sum(gx.vectorized_map(lambda v: gx.py_function(square, [v], SCALAR), x))))
    assert g(np.float32([1, -2, 3])).tolist() == [2.0, 4.0, 6.0]


@modes
def test_inside_a_scan(mode):
    f = mode(lambda x: gx.scan(lambda c, v: (c + gx.py_function(square, [v], SCALAR), None), 0.0, x)[0])
    assert float(f(np.float32([1, -2, 3]))) == 6.0


@pytest.mark.broad
@modes
def test_large_arrays_and_operations_inside(mode):
    x = np.random.default_rng(0).normal(size=(600, 600)).astype("float32")
    f = mode(lambda x: gx.py_function(lambda v: ops.sum(v @ v), [x @ x], SCALAR))
    np.testing.assert_allclose(f(x), np.sum(x @ x @ x @ x), rtol=1e-2)


@modes
def test_without_arguments_it_runs_each_time(mode):
    numbers = iter(range(10))
    f = mode(lambda: gx.py_function(lambda: next(numbers), (), gx.ArraySpec((), "int32")))
    assert [int(f()) for _ in range(3)] == [0, 1, 2]


def test_variables_are_out_of_reach():
    v = gx.Variable(1.0, name="hidden")
    with pytest.raises(StateError, match="read the variable 'hidden'"):
        gx.py_function(lambda x: x * v, [1.0])
    with pytest.raises(StateError, match="assigned the variable 'hidden'"):
        gx.py_function(lambda x: v.assign(x), [1.0])
    assert float(gx.grad(lambda: gx.py_function(lambda x: x * 3, [v]), wrt=v)()) == 3.0


def test_on_the_numpy_backend():
    with gx.backend.use("numpy"):
        assert float(gx.py_function(square, [3.0])) == 9.0


@pytest.mark.broad
@modes
def test_free_variables_are_those_of_the_call(mode):
    def looped(x):
        y = 0.0
        for k in 2.0, 3.0:
            y = y + gx.py_function(lambda v: k * v * v, [x], SCALAR)  # noqa: B023
        return y

    assert float(mode(looped)(1.0)) == 5.0
    assert float(mode(gx.grad(looped))(1.0)) == 10.0

    def taped(x):
        with gx.GradientTape() as tape:
            tape.watch(x)
            y = looped(x)
        return tape.gradient(y, x)

    assert float(mode(lambda x: taped(ops.asarray(x)))(1.0)) == 10.0


@modes
def test_free_variables_that_it_assigns_are_shared(mode):
    runs = 0

    def counted(x):
        nonlocal runs

        def bump():
            nonlocal runs
            runs += 1

        bump()
        return x

    f = mode(lambda x: gx.py_function(counted, [x], SCALAR))
    assert [float(f(1.0)), float(f(2.0)), runs] == [1.0, 2.0, 2]
