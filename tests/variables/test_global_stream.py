"""The stream of the global seed: one for eager and compiled code, set by every seed, and part of nothing else."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.backend import registry
from graftax.core.errors import ArgumentError
from graftax.variables import streams


@pytest.fixture(autouse=True)
def no_stream_yet():
    """As in a new process."""
    streams._global.clear()


def numbers(draw, count=2):
    return [float(draw()) for _ in range(count)]


def plain():
    return gx.random.uniform(())


def test_a_seed_starts_compiled_functions_over_without_a_trace():
    draw = gx.jit(plain)
    drawn = []
    for seed in (0, 0, 1):
        gx.set_random_seed(seed)
        drawn.append(numbers(draw))
    assert drawn[0] == drawn[1] != drawn[2]
    assert draw.trace_count == 1


def test_eager_and_compiled_draws_are_one_stream():
    draw = gx.jit(plain)
    draw()
    gx.set_random_seed(4)
    mixed = [float(one()) for one in (draw, plain, draw, plain)]
    gx.set_random_seed(4)
    assert numbers(plain, 4) == mixed


def test_a_seed_that_is_set_in_a_compiled_function_is_set_at_each_call():
    @gx.jit
    def step():
        gx.set_random_seed(5)
        return plain()

    assert numbers(step, 3) == numbers(step, 1) * 3
    gx.set_random_seed(5)
    assert numbers(plain, 1) == numbers(step, 1)


def test_a_seed_that_is_none_changes_nothing():
    gx.set_random_seed(6)
    expected = numbers(plain, 3)
    gx.set_random_seed(6)
    got = numbers(plain, 1)
    with pytest.raises(ArgumentError, match="seed=-1"):
        gx.set_random_seed(-1)
    assert got + numbers(plain, 2) == expected


@pytest.mark.broad
def test_fit_draws_anew_after_a_seed():
    class Noisy(gx.Layer):
        def call(self, x):
            return x + gx.random.normal(x.shape)

    x, y = np.ones((8, 3), "float32"), np.ones((8, 1), "float32")
    model = gx.Sequential([Noisy(), layers.Dense(1)])
    model.compile(gx.optimizers.SGD(0.0), "mse")
    model.fit(x, y, epochs=1, verbose=0)
    losses = []
    for seed in (0, 0, 1):
        gx.set_random_seed(seed)
        losses.append(model.fit(x, y, epochs=1, shuffle=False, verbose=0).history["loss"])
    assert losses[0] == losses[1] != losses[2]


SURROUNDINGS = {
    "eager": plain,
    "a compiled function": gx.jit(plain),
    "a template": gx.template(plain),
    "a template that is compiled": gx.jit(gx.template(plain)),
    "a gradient": lambda: gx.value_and_grad(lambda x: x * plain())(1.0)[0],
}


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("name", SURROUNDINGS)
def test_the_first_draw_ever_may_come_anywhere(name):
    draw = SURROUNDINGS[name]
    drawn = []
    for seed in (2, 2, 3):
        gx.set_random_seed(seed)
        drawn.append(numbers(draw))
    gx.set_random_seed(2)
    assert drawn[0] == drawn[1] != drawn[2]
    np.testing.assert_allclose(drawn[0], numbers(plain), rtol=1e-6)


def test_a_template_keeps_nothing_of_the_stream():
    net = gx.template(plain)
    net()
    assert net.created == []
    assert net.variables == []


def test_no_creator_sees_the_stream():
    seen = []

    def creator(next_creator, spec):
        seen.append(spec.path)
        return next_creator(spec)

    with gx.variable_creator_scope(creator, roles=None):
        plain()
        gx.set_random_seed(1)
        plain()
    assert seen == []


def test_a_draw_counts_for_the_weights_made_after_it_as_it_always_did():
    """The first global draw after a seed takes the number of a root, the later ones take none."""

    def kernel(draws):
        gx.set_random_seed(0)
        numbers(plain, draws)
        layer = layers.Dense(2)
        layer(np.ones((1, 3), "float32"))
        return layer.kernel.numpy().tolist()

    without, with_one = kernel(0), kernel(1)
    assert without != with_one == kernel(3)
    streams._global.clear()
    assert kernel(2) == with_one
    assert kernel(0) == without


def test_a_stream_that_began_on_a_backend_that_does_not_compile_goes_on_compiled():
    gx.set_random_seed(7)
    expected = numbers(plain, 4)
    streams._global.clear()
    gx.set_random_seed(7)
    with registry.scope(registry.load("numpy")):
        got = numbers(plain)
    draw = gx.jit(plain)
    np.testing.assert_allclose(got + numbers(draw), expected, rtol=1e-6)
    gx.set_random_seed(7)
    np.testing.assert_allclose(numbers(draw), expected[:2], rtol=1e-6)
