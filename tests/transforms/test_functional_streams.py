"""Random streams in the state that functional_call is given, inside maps over rows."""

import jax
import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.transforms.flow.vectorized_map import vectorized_map
from graftax.transforms.functional import functional_call, state

X = np.ones((8, 16), "float32")
ROWS = np.arange(6)


@pytest.fixture
def net():
    net = gx.Sequential([layers.Dropout(0.5)])
    net(X)
    return net


def different(rows):
    return len({np.asarray(row).tobytes() for row in rows})


def noisy(net, given):
    return functional_call(net, given, X, training=True)[0]


MODES = pytest.mark.parametrize("mode", [lambda f: f, gx.jit], ids=["eager", "gx.jit"])


@pytest.mark.broad
@pytest.mark.in_turn(3)
@MODES
@pytest.mark.parametrize("chunk_size", [None, 4])
def test_a_state_that_is_the_same_for_all_rows_branches(net, mode, chunk_size):
    given = state(net)
    run = mode(lambda g: vectorized_map(lambda _: noisy(net, g), ROWS, chunk_size=chunk_size))
    assert different(run(given)) == 6
    run = mode(lambda g: vectorized_map(lambda _, s: noisy(net, s), ROWS, g, in_axes=(0, None), chunk_size=chunk_size))
    out = run(given)
    assert different(out) == 6
    np.testing.assert_array_equal(out, run(given))
    np.testing.assert_array_equal(net.variables[0], given["layers/0/seed_generator/state"])


def test_rows_draw_what_a_call_of_the_module_draws(net):
    given = state(net)
    out = vectorized_map(lambda _: noisy(net, given), ROWS)
    np.testing.assert_array_equal(out, vectorized_map(lambda _: net(X, training=True), ROWS))


@pytest.mark.broad
@MODES
def test_states_of_the_rows_own_count(net, mode):
    (path,) = state(net)
    seeds = ops.stack([gx.SeedGenerator(seed).state.value for seed in range(6)])
    out = mode(lambda s: vectorized_map(lambda own: noisy(net, {path: own}), s))(seeds)
    assert different(out) == 6
    for seed, row in zip(seeds, out, strict=True):
        np.testing.assert_array_equal(row, noisy(net, {path: seed}))


def test_equal_states_of_the_rows_own_draw_equal_numbers(net):
    (path,) = state(net)
    equal = ops.stack([gx.SeedGenerator(1).state.value] * 6)
    assert different(vectorized_map(lambda own: noisy(net, {path: own}), equal)) == 1


def test_each_row_gives_back_a_state_that_goes_on(net):
    (path,), given = state(net), state(net)

    def two(_):
        first, after = functional_call(net, given, X, training=True)
        second, _ = functional_call(net, after, X, training=True)
        return first, second, after

    first, second, after = vectorized_map(two, ROWS)
    assert different([*first, *second]) == 12
    assert different(after[path]) == 6
    unused = vectorized_map(lambda _: functional_call(net, given, X)[1], ROWS)[path]
    np.testing.assert_array_equal(unused, [given[path]] * 6)


@pytest.mark.broad
def test_maps_in_maps_gradients_and_scans_branch_too(net):
    given = state(net)
    nested = vectorized_map(lambda _: vectorized_map(lambda _: noisy(net, given), ROWS), ROWS)
    assert different(np.asarray(nested).reshape(36, -1)) == 36

    def slope(_):
        return gx.grad(lambda x: ops.sum(functional_call(net, given, x, training=True)[0]))(ops.asarray(X))

    assert different(vectorized_map(slope, ROWS)) == 6

    def steps(_):
        return gx.scan(lambda carry, _: (carry, noisy(net, given)), 0.0, length=2)[1]

    assert different(vectorized_map(steps, ROWS)) == 6


@pytest.mark.broad
def test_a_state_that_a_loop_carries_is_taken_as_it_is(net):
    (path,), given = state(net), state(net)

    def steps(own):
        return gx.scan(lambda s, _: functional_call(net, s, X, training=True)[::-1], {path: own}, length=2)[1]

    seeds = ops.stack([gx.SeedGenerator(seed).state.value for seed in range(6)])
    out = np.asarray(vectorized_map(steps, seeds))
    assert different(out.reshape(12, -1)) == 12
    np.testing.assert_array_equal(out[3], steps(seeds[3]))
    assert different(vectorized_map(lambda _: steps(given[path]), ROWS)) == 1


@pytest.mark.broad
def test_outside_of_a_map_a_given_state_is_taken_as_it_is(net):
    given = state(net)
    np.testing.assert_array_equal(noisy(net, given), noisy(net, given))
    np.testing.assert_array_equal(noisy(net, given), net(X, training=True))


@pytest.mark.broad
def test_a_layer_that_is_made_in_training_only_is_named_with_what_to_call():
    class Late(gx.Layer):
        def __init__(self):
            super().__init__()
            self.extra = layers.Dense(2)

        def call(self, x, training=None):
            return self.extra(x) if training else x

    def run(layer, compiled):
        layer(X)
        return compiled(lambda s: functional_call(layer, s, X, training=True))(state(layer))

    for compiled in (lambda f: f, jax.jit):
        with pytest.raises(gx.errors.NotBuiltError, match="with the very same arguments"):
            run(Late(), compiled)
        layer = Late()
        layer(X, training=True)
        run(layer, compiled)
