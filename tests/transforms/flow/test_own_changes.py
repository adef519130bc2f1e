"""Parts of programs that change plain attributes: refused where another run would be another program."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core.errors import StateError

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
@pytest.mark.parametrize("body", ["once", "count"])
def test_a_body_of_which_a_later_turn_would_be_another_is_refused(loop, body, wrap):
    model = Model()
    with pytest.raises(StateError, match=r"changes Model.(ready|n)") as caught:
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


@wraps
def test_a_function_of_rows_may_build_layers_and_keep_traced_values(wrap):
    dense, model = layers.Dense(2), Model()

    def body(row):
        model.shape = row
        return dense(ops.reshape(row, (1, 1)))[0]

    assert wrap(lambda x: gx.vectorized_map(body, x))(X).shape == (3, 2)
