"""Gradients with respect to Variables, modules, structures and arguments; writes inside; errors."""

from collections import namedtuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from graftax import ops
from graftax.core.errors import GradientError, StaleReadError
from graftax.transforms.compile.jit import jit
from graftax.transforms.gradients.grad import grad, value_and_grad
from graftax.variables.graph.module import Module
from graftax.variables.random import SeedGenerator, uniform
from graftax.variables.variable import Variable

Pair = namedtuple("Pair", "a b")


class Box(Module):
    def __init__(self, **attributes):
        for name, value in attributes.items():
            setattr(self, name, value)


@pytest.fixture(params=["eager", "compiled"])
def run(request):
    return jit if request.param == "compiled" else lambda f: f


def test_a_variable(run):
    w = Variable([1.0, 2.0])
    value, gradient = run(value_and_grad(lambda x: ops.sum(w * w * x), wrt=w))(3.0)
    assert (float(value), gradient.tolist()) == (15.0, [6.0, 12.0])


def test_structures(run):
    a, b, c = Variable(2.0), Variable(3.0), Variable(4.0)
    wrt = {"x": [a, (b,)], "p": Pair(c, a)}
    value, gradient = run(value_and_grad(lambda: a * b * c, wrt=wrt))()
    assert float(value) == 24.0
    assert jax.tree.map(float, gradient) == {"x": [12.0, (8.0,)], "p": Pair(6.0, 12.0)}
    assert type(gradient["p"]) is Pair


def test_the_same_variable_twice_gets_the_same_gradient_twice(run):
    w = Variable(2.0)
    assert [float(g) for g in run(grad(lambda: w * w, wrt=[w, w]))()] == [4.0, 4.0]
    box = Box(w=w)
    assert float(grad(lambda: w * w, wrt=[box, w])()[0]["w"]) == 4.0


def test_a_module_gives_its_trainable_variables_by_path(run):
    box = Box(w=Variable(2.0), frozen=Variable(3.0, trainable=False), sub=Box(v=Variable(4.0)))
    step = run(grad(lambda: box.w * box.frozen * box.sub.v, wrt=box))
    assert {path: float(g) for path, g in step().items()} == {"w": 12.0, "sub/v": 6.0}
    box.sub.trainable = False
    assert list(step()) == ["w"]


def test_what_is_not_used_has_a_zero_gradient(run):
    a, b = Variable([1.0]), Variable([1.0, 2.0])
    assert run(grad(lambda: ops.sum(a * a), wrt=[a, b]))()[1].tolist() == [0.0, 0.0]


def test_the_first_argument(run):
    gradient = run(grad(lambda p, k: ops.sum(p["a"] * p["b"][0] * k)))({"a": np.float32([1, 2]), "b": [3.0]}, 2.0)
    assert (gradient["a"].tolist(), float(gradient["b"][0])) == ([6.0, 6.0], 6.0)


def test_a_variable_as_the_first_argument_stands_for_its_value():
    assert float(grad(lambda x: x * x)(Variable(3.0))) == 6.0


def test_aux(run):
    w = Variable(3.0)
    (value, aux), gradient = run(value_and_grad(lambda: (w * w, {"double": w * 2}), wrt=w, has_aux=True))()
    assert (float(value), float(aux["double"]), float(gradient)) == (9.0, 6.0, 6.0)
    gradient, aux = run(grad(lambda: (w * w, w.value), wrt=w, has_aux=True))()
    assert (float(gradient), float(aux)) == (6.0, 3.0)


def test_writes_inside_take_effect(run):
    w, mean, count = Variable(2.0), Variable(0.0, trainable=False), Variable(0, trainable=False)

    def loss(x):
        count.assign_add(1)
        mean.assign(0.9 * mean + 0.1 * w * x)
        return w * x + mean  # what is written takes part

    step = run(value_and_grad(loss, wrt=w))
    value, gradient = step(3.0)
    np.testing.assert_allclose([float(value), float(gradient)], [6.6, 3.3], rtol=1e-6)
    step(3.0)
    np.testing.assert_allclose([float(mean), int(count)], [0.6 * 1.9, 2], rtol=1e-6)


def test_a_variable_written_and_differentiated(run):
    w = Variable(2.0)

    def loss():
        before = w * w
        w.assign(w * 10)
        return before + w  # 2w + 10

    value, gradient = run(value_and_grad(loss, wrt=w))()
    assert (float(value), float(gradient), float(w)) == (24.0, 14.0, 20.0)


def test_random_streams_move_on(run):
    stream = SeedGenerator(seed=1)
    stream.build()
    step = run(value_and_grad(lambda x: x * uniform((), seed=stream)))
    draws = [float(step(1.0)[0]) for _ in range(3)]
    assert len(set(draws)) == 3
    again = SeedGenerator(seed=1)
    np.testing.assert_allclose(draws, [float(uniform((), seed=again)) for _ in range(3)], rtol=1e-6)


def test_second_order(run):
    w = Variable(3.0)
    second = run(value_and_grad(lambda: grad(lambda: w * w * w, wrt=w)(), wrt=w))
    assert [float(x) for x in second()] == [27.0, 18.0]


def test_jit_inside_gradient_inside_jit_inside_gradient():
    w, calls = Variable(2.0), Variable(0, trainable=False)

    @jit
    def cube(x):
        calls.assign_add(1)
        return w * w * w * x

    inner = jit(lambda x: grad(lambda: cube(x), wrt=w)())
    value, second = value_and_grad(lambda: inner(1.0), wrt=w)()
    assert (float(value), float(second)) == (12.0, 12.0)
    assert int(calls) == 1
    w.assign(3.0)
    assert [float(x) for x in value_and_grad(lambda: inner(1.0), wrt=w)()] == [27.0, 18.0]
    assert (int(calls), inner.trace_count) == (2, 1)


def test_an_exception_leaves_everything_as_it_was(run):
    w, count = Variable(2.0), Variable(0)

    def loss():
        count.assign_add(1)
        w.assign(99.0)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(value_and_grad(loss, wrt=w))()
    assert (float(w), int(count)) == (2.0, 0)


def test_inside_foreign_transforms():
    w = Variable(2.0)
    assert float(jax.grad(lambda x: grad(lambda: w * w * x, wrt=w)())(3.0)) == 4.0
    assert jax.vmap(lambda x: grad(lambda: w * x, wrt=w)())(jnp.arange(3.0)).tolist() == [0.0, 1.0, 2.0]


def test_a_foreign_jit_that_reads_a_variable_is_refused():
    w = Variable(2.0)
    inner = jax.jit(lambda x: x * w.value)
    with pytest.raises(StaleReadError, match="graftax.jit"):
        value_and_grad(lambda: inner(3.0), wrt=w)()


def test_bfloat16_and_complex_steps():
    w = Variable([1.0, 2.0], dtype="bfloat16")
    assert str(grad(lambda: ops.sum(w * w), wrt=w)().dtype) == "bfloat16"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: value_and_grad(lambda: 1.0, wrt=[])(), "with respect to nothing"),
        (lambda: value_and_grad(lambda: 1.0, wrt=Box())(), "an unbuilt model has no Variables"),
        (lambda: value_and_grad(lambda: 1.0)(), "without an argument and without wrt="),
        (lambda: value_and_grad(lambda: 1.0, wrt="w")(), "wrt= holds 'w' of type str"),
        (lambda: value_and_grad(lambda: 1.0, wrt=jnp.ones(2))(), "wrt= holds"),
        (lambda: grad(lambda x: x, jnp.ones(2)), r"graftax\.grad\(fn\)\(x\)"),  # before it is called
        (lambda: value_and_grad(lambda: None, wrt=Variable(1.0))(), "returned None"),
        (lambda: value_and_grad(lambda: jnp.ones(2), wrt=Variable(1.0))(), r"returned shape \(2,\)"),
        (lambda: value_and_grad(lambda: 1.0, wrt=Variable(1, name="n"))(), "the variable 'n' of dtype int32"),
        (lambda: value_and_grad(lambda x: x)(3), "an argument of dtype int32"),
    ],
)
def test_errors(make, message):
    with pytest.raises(GradientError, match=message):
        make()
