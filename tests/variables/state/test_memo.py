"""Memo: what is computed from Variables is computed once, until one of just these changes."""

import jax
import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.reparam.base import Reparam
from graftax.variables.calls import is_training

X = np.random.default_rng(0).normal(size=(3, 4)).astype("float32")


class Sine(Reparam):
    """A function that stands in a jaxpr under a name of its own."""

    def __init__(self, next_creator, spec):
        super().__init__(spec)
        self.angle = next_creator(spec.replace(name="angle"))

    def forward(self):
        return ops.sin(self.angle)


class Counting(Sine):
    """Moves a Variable each time that it is computed."""

    def __init__(self, next_creator, spec):
        super().__init__(next_creator, spec)
        self.count = gx.Variable(0.0, role="state", trainable=False)

    def forward(self):
        self.count.assign_add(1.0)
        return ops.sin(self.angle) + 0 * self.count


class InTraining(Sine):
    def forward(self):
        return ops.cos(self.angle) if is_training() else ops.sin(self.angle)


def made(kind, n=1):
    with gx.variable_creator_scope(kind):
        return [gx.Variable([1.0, 2.0], name=f"w{i}") for i in range(n)]


class Program(gx.Module):
    """A function of the Variables in some objects."""

    def __init__(self, fn, *holds):
        super().__init__()
        self.fn, self.holds = fn, list(holds)

    def __call__(self):
        return self.fn()


def sines(fn, *holds):
    """How often the sine is in the jaxpr of the function."""
    program = Program(fn, *holds)
    return str(jax.make_jaxpr(lambda state: gx.functional_call(program, state))(gx.state(program))).count(" sin ")


@pytest.mark.broad
def test_the_expression_is_in_the_program_of_a_training_step_once():
    """Batch statistics are written between the two reads of a tied weight."""

    class Tied(gx.Model):
        def __init__(self):
            super().__init__()
            with gx.variable_creator_scope(Sine):
                self.kernel = gx.Variable(np.eye(4, dtype="float32"))
            self.norm = gx.layers.BatchNormalization()

        def call(self, x):
            return ops.matmul(self.norm(ops.matmul(x, self.kernel)), ops.transpose(self.kernel))

    model, optimizer = Tied(), gx.optimizers.SGD(0.1)
    model(X)

    def step():
        def loss():
            return ops.mean(model(X, training=True) ** 2)

        value, gradients = gx.value_and_grad(loss, model)()
        optimizer.apply(gradients, model)
        return value

    step()
    before = model.norm.moving_mean.numpy()
    assert sines(step, model, optimizer) == 1
    gx.jit(step)()
    assert (model.norm.moving_mean.numpy() != before).any()


def test_it_is_computed_again_after_a_write_to_what_it_reads_only():
    w, v = made(Sine, 2)
    other = gx.Variable(0.0)

    def run(written):
        before = w.value + v.value
        written.assign_add(1.0)
        return before + w.value + v.value

    assert sines(lambda: run(other), w, v, other) == 2
    w.angle.assign([1.0, 2.0])
    one = gx.Variable(1.0)

    def moved():
        before = w.value + v.value
        w.angle.assign(w.angle + one)
        return before + w.value + v.value

    assert sines(moved, w, v, one) == 3
    np.testing.assert_allclose(gx.jit(moved)(), 3 * np.sin([1, 2]) + np.sin([2, 3]), rtol=1e-5)


@pytest.mark.broad
def test_expressions_that_move_state_are_computed_at_each_read_as_in_eager_code():
    a, b = made(Counting, 2)

    @gx.jit
    def run():
        return a.value + b.value + a.value + b.value

    run()
    assert (float(a.count.value), float(b.count.value)) == (2.0, 2.0)
    b.count = a.count  # as of a stream of random numbers that they share
    run()
    assert float(a.count.value) == 6.0


def test_state_that_it_moves_counts_when_somebody_else_assigns_it():
    (a,) = made(Counting)

    @gx.jit
    def run():
        first = a.value
        a.count.assign(10.0)
        return first, a.value

    run()
    assert float(a.count.value) == 11.0


def test_an_expression_over_another_one_depends_on_what_that_reads():
    with gx.variable_creator_scope(Sine), gx.variable_creator_scope(Sine):
        w = gx.Variable([1.0, 2.0])

    @gx.jit
    def run():
        inner, outer = w.angle.value, w.value  # the outer one finds the inner one kept
        w.angle.angle.assign([0.5, 0.5])
        return inner, outer, w.value

    inner, outer, after = run()
    np.testing.assert_allclose(inner, np.sin([1, 2]), rtol=1e-6)
    np.testing.assert_allclose(outer, np.sin(np.sin([1, 2])), rtol=1e-6)
    np.testing.assert_allclose(after, np.sin(np.sin([0.5, 0.5])), rtol=1e-6)


@pytest.mark.parametrize(("kind", "times"), [(Sine, 1), (InTraining, 2)])
def test_the_training_flag_counts_for_those_that_look_at_it(kind, times):
    calls = []

    class Counted(kind):
        def forward(self):
            calls.append(self)
            return super().forward()

    class Two(gx.Layer):
        def __init__(self):
            super().__init__()
            (self.w,) = made(Counted)

        def call(self, x):
            return self.w.value + self.w.value

    layer = Two()

    @gx.jit
    def run():
        return layer(0.0, training=True), layer(0.0, training=False)

    in_training, outside = run()
    assert len(calls) == times
    np.testing.assert_allclose(outside, 2 * np.sin([1, 2]), rtol=1e-6)
    np.testing.assert_allclose(in_training, 2 * (np.cos([1, 2]) if times == 2 else np.sin([1, 2])), rtol=1e-6)
