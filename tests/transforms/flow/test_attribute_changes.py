"""Parts of programs that change plain attributes: refused where another run would be another program."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core.errors import StateError, TracerLeakError

X = ops.asarray([1.0, 2.0, 3.0])
LOOPS = {
    "scan": lambda f, x: gx.scan(lambda c, row: (c, f(row)), 0.0, x)[1],
    "map_fn": gx.map_fn,
    "while_loop": lambda f, x: gx.jit(
        lambda x: gx.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, f(c[1])), (ops.asarray(0), x[0]))[1]
    )(x),
}
every_loop = pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
wraps = pytest.mark.parametrize("wrap", [lambda f: f, gx.jit], ids=["eager", "compiled"])


class Model(gx.Module):
    """Holds what bodies change."""

    def __init__(self):
        self.ready, self.n, self.seen, self.shape = False, 0, [], None

    def once(self, x):
        if self.ready:
            return x * 2
        self.ready = True
        return x * 10

    def count(self, x):
        self.n += 1
        return x * 1

    def grow(self, x):
        self.seen.append(1)
        gx.ops.asarray(0)
        return x * len(self.seen)

    def note(self, x):
        self.shape = x.shape
        return x * 2


@wraps
@every_loop
@pytest.mark.parametrize("body", ["once", "count", "grow"])
def test_a_body_of_which_a_later_turn_would_be_another_is_refused(loop, body, wrap):
    model = Model()
    with pytest.raises(StateError, match=r"changes Model.(ready|n|seen)") as caught:
        wrap(lambda x: loop(getattr(model, body), x))(X)
    assert "gx.Variable(False" in caught.value.instead


@wraps
@every_loop
def test_a_change_that_makes_no_other_program_is_none(loop, wrap):
    model = Model()
    wrap(lambda x: loop(model.note, x))(X)
    assert model.shape == ()


def test_a_body_that_is_as_it_stays_is_run():
    model = Model()
    model.once(X)
    np.testing.assert_allclose(gx.map_fn(model.once, X), 2 * X)


@every_loop
def test_a_layer_built_in_a_body_is_no_change(loop):
    class Own(gx.Layer):
        def build(self, shape):
            self.width = shape[-1]
            self.parts = [self.add_weight((1,), initializer="ones")]
            self.dense = layers.Dense(1, kernel_initializer="ones")

        def call(self, x):
            return self.dense(x) * self.parts[0]

    layer = Own()
    found = loop(lambda row: layer(ops.reshape(row, (1, 1)))[0, 0], X)
    np.testing.assert_allclose(np.ravel(found)[0], 1)


def test_what_a_body_keeps_of_its_traced_values_is_no_change():
    model = Model()

    def body(row):
        model.shape = row
        return row * 2

    np.testing.assert_allclose(gx.map_fn(body, X), 2 * X)


@wraps
@pytest.mark.parametrize("body", ["once", "count", "grow", "note"])
@pytest.mark.parametrize("chunk_size", [None, 2])
def test_a_function_of_rows_that_changes_an_attribute_is_refused(body, chunk_size, wrap):
    model = Model()
    with pytest.raises(StateError, match=r"changes Model.(ready|n|seen|shape)") as caught:
        wrap(lambda x: gx.vectorized_map(getattr(model, body), x, chunk_size=chunk_size))(X)
    assert "once for all rows" in caught.value.instead


def test_a_function_of_rows_may_build_layers_and_keep_traced_values():
    dense, model = layers.Dense(2), Model()

    def body(row):
        model.shape = row
        return dense(ops.reshape(row, (1, 1)))[0]

    assert gx.vectorized_map(body, X).shape == (3, 2)


@pytest.mark.parametrize("init", [0, 0.0], ids=["an integer gives way", "a number gives way"])
def test_a_start_that_gives_way_hides_no_change(init):
    model = Model()
    with pytest.raises(StateError, match=r"changes Model.ready"):
        gx.scan(lambda c, row: (c + model.once(row), None), init, X)


def loop_with(condition, body):
    return gx.jit(lambda: gx.while_loop(condition, body, 0))()


@pytest.mark.parametrize("name", ["once", "count", "grow"])
def test_a_condition_that_changes_what_it_depends_on_is_refused(name):
    model = Model()
    with pytest.raises(StateError, match=r"the condition of a while_loop changes Model.(ready|n|seen)"):
        loop_with(lambda n: getattr(model, name)(n) < 30, lambda n: n + 1)


def test_a_condition_may_note_what_makes_no_other_program():
    model = Model()
    assert int(loop_with(lambda n: model.note(n) < 6, lambda n: n + 1)) == 3


def test_a_condition_that_sees_what_the_body_changes_is_refused():
    model = Model()

    def body(n):
        model.ready = True
        return n + 1

    condition = lambda n: n < (1 if model.ready else 3)  # noqa: E731
    with pytest.raises(StateError, match=r"the body of a while_loop changes Model.ready, on which the condition"):
        loop_with(condition, body)
    assert int(loop_with(condition, body)) == 1  # as it stays


BRANCHES = {
    "true_fn": lambda f, i: gx.cond(i == 0, f, lambda: ops.asarray(0.0)),
    "false_fn": lambda f, i: gx.cond(i == 1, lambda: ops.asarray(0.0), f),
    "branch 1": lambda f, i: gx.switch(i + 1, [lambda: ops.asarray(0.0), f]),
}


@pytest.mark.parametrize("label", BRANCHES)
@pytest.mark.parametrize("name", ["once", "count", "grow", "note"])
def test_a_branch_that_changes_an_attribute_is_refused_where_all_are_traced(label, name):
    def branch(model):
        return lambda: getattr(model, name)(ops.asarray(1.0))

    with pytest.raises(StateError, match=rf"{label} of a (cond|switch) changes Model.(ready|n|seen|shape)"):
        gx.jit(lambda i: BRANCHES[label](branch(Model()), i))(0)
    model = Model()
    BRANCHES[label](branch(model), ops.asarray(0))  # with real values this is Python's if
    assert vars(model) != vars(Model())


def test_a_branch_may_build_layers():
    dense = layers.Dense(1)
    run = gx.jit(lambda p, x: gx.cond(p, lambda: dense(x), lambda: x[:, :1]))
    assert run(True, np.ones((2, 3), "float32")).shape == (2, 1)


class Momentum(gx.Layer):
    def __init__(self, keep):
        super().__init__()
        self.momentum, self.by_name, self.keep = 0.0, {"momentum": 0.0}, keep

    def call(self, x):
        mean = ops.mean(x)
        if self.keep == "attribute":
            self.momentum = mean = 0.5 * self.momentum + mean
        elif self.keep == "dict":
            self.by_name["momentum"] = mean = 0.5 * self.by_name["momentum"] + mean
        else:
            self.momentum = mean  # for whoever looks at it later
        return x + mean


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("keep", ["attribute", "dict"])
def test_a_value_that_a_body_keeps_in_an_attribute_from_turn_to_turn_is_refused(keep, compiled):
    layer = Momentum(keep)

    def run(x):
        return gx.scan(lambda c, _: (layer(c), None), x, np.arange(3))[0]

    with pytest.raises((StateError, TracerLeakError)):
        (gx.jit(run) if compiled else run)(ops.ones(2))


def test_a_value_that_a_body_only_puts_there_is_no_matter():
    layer = Momentum("nothing")
    found = gx.scan(lambda c, _: (layer(c), None), ops.ones(2), np.arange(3))[0]
    assert found.tolist() == [8.0, 8.0]
