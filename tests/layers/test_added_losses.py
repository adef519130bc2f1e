"""What `losses` is after any chain of calls: which terms stay, which are forgotten, what is refused."""

import copy
import pickle

import jax
import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.backend import registry
from graftax.core.errors import StateError, TracerLeakError
from graftax.layers.call_context import call_context
from tests.layers.small_layers import Mean

X = np.ones((4, 2), "float32")


class Pair(gx.Layer):
    def __init__(self):
        super().__init__()
        self.first, self.second = Mean(), Mean()

    def call(self, x):
        self.add_loss(100.0)
        return self.second(self.first(x))


class Around(gx.Layer):
    """Calls a function of `Mean`."""

    def __init__(self, wrap):
        super().__init__()
        self.mean = Mean()
        self.wrapped = wrap(self.mean)

    def call(self, x):
        return self.wrapped(x)


def numbers(layer):
    return [float(loss) for loss in layer.losses]


# --- which call they are of -----------------------------------------------------------------------------------------


def test_losses_are_the_union_of_what_each_layer_below_added_in_its_latest_call():
    pair = Pair()
    pair.second(pair.first(X))
    assert numbers(pair) == [1, 1]
    pair(2 * X)
    assert (numbers(pair), numbers(pair.first)) == ([100, 2, 2], [2])
    pair.first(3 * X)
    assert numbers(pair) == [100, 3, 2]


def test_a_layer_called_twice_inside_of_one_call_has_all_its_terms():
    class Twice(gx.Layer):
        def __init__(self):
            super().__init__()
            self.mean = Mean()

        def call(self, x):
            return self.mean(x) + self.mean(2 * x)

    twice = Twice()
    for _ in range(2):
        twice(X)
        assert numbers(twice) == [3]
    twice.mean(X)
    assert numbers(twice) == [1]


def test_a_layer_that_another_one_calls_and_does_not_hold_begins_anew_at_each_outermost_call():
    held_elsewhere = [Mean()]
    held_elsewhere[0](X)  # built, so that nothing warns

    class Calls(gx.Layer):
        def call(self, x):
            return held_elsewhere[0](x)

    calls = Calls()
    for function in (calls, gx.jit(calls)):
        for factor in (1, 2, 3):
            function(factor * X)
            assert numbers(held_elsewhere[0]) == [factor]


def test_a_term_that_one_call_adds_and_the_next_does_not_is_gone():
    class InTraining(gx.Layer):
        def call(self, x, training=False):
            if training:
                self.add_loss(ops.mean(x))
            return x

    layer = InTraining()
    compiled = {training: gx.jit(lambda x, flag=training: layer(x, training=flag)) for training in (False, True)}
    compiled[False](X)
    assert numbers(layer) == []
    for training, expected in ((True, 1), (False, 0), (True, 1), (False, 0)):
        layer(X, training=training)
        assert numbers(layer) == [expected]
        compiled[training](X)
        assert numbers(layer) == [expected]


def test_terms_keep_a_precision_that_sums_them():
    layer = Mean(dtype="mixed_bfloat16")
    layer(X)
    assert [(str(loss.dtype), float(loss)) for loss in layer.losses] == [("float32", 1)]


def test_copies_have_added_nothing_and_nothing_is_saved():
    pair = Pair()
    pair(X)
    assert numbers(copy.deepcopy(pair)) == numbers(pickle.loads(pickle.dumps(pair))) == []
    assert pair.variables == []
    twin = copy.deepcopy(pair)
    twin(2 * X)
    assert (numbers(twin), numbers(pair)) == ([100, 2, 2], [100, 1, 1])


def test_a_layer_without_weights_adds_on_the_backend_in_charge():
    layer = Mean()
    layer(X)
    with registry.scope(registry.load("numpy")):
        layer(3 * X)
        (loss,) = layer.losses
        assert (float(loss), type(loss)) == (3, np.float32)
    layer(2 * X)
    assert numbers(layer) == [2]


# --- compiled -------------------------------------------------------------------------------------------------------


def test_losses_are_there_after_a_compiled_call_also_the_second_time():
    pair = Pair()
    compiled = gx.jit(pair)
    for factor in (1, 2, 3):
        compiled(factor * X)
        assert numbers(pair) == [100, factor, factor]
    assert compiled.trace_count == 1


@pytest.mark.parametrize("outer", [lambda f: f, gx.jit], ids=["eager", "compiled"])
@pytest.mark.parametrize(
    "around", [lambda f: f, gx.remat, lambda f: lambda x: gx.scan(lambda c, x: (c, f(x)), 0, x[None])[1][0]]
)
def test_terms_of_a_layer_that_lives_for_one_call_are_read_there(outer, around):
    def term(x):
        layer = Mean()
        layer(x)
        return sum(layer.losses)

    run = outer(around(term))
    for factor in (1, 2):
        assert float(run(factor * ops.asarray(X))) == factor


def test_a_function_compiled_before_a_layer_added_anything_sees_what_it_adds():
    layer = Mean()
    total = gx.jit(lambda: sum(layer.losses) + 0.0)
    assert float(total()) == 0
    for factor in (1, 2):
        layer(factor * X)
        assert float(total()) == factor
    assert total.trace_count == 2


@pytest.mark.broad
@pytest.mark.parametrize("outer", [lambda f: f, gx.jit], ids=["eager", "compiled"])
def test_turns_of_a_loop_are_summed(outer):
    for wrap in (
        lambda f: lambda x: gx.map_fn(f, x),
        lambda f: lambda x: gx.scan(lambda c, _: (f(c), None), x, length=4)[0],
        lambda f: lambda x: gx.while_loop(lambda c: c[0] < 4, lambda c: (c[0] + 1, f(c[1])), (ops.asarray(0), x))[1],
    ):
        layer = Around(wrap)
        run = outer(layer)
        for factor in (1, 2):
            run(factor * X)
            assert numbers(layer) == [4 * factor]


def test_a_branch_that_is_not_taken_adds_nothing():
    layer = Around(lambda f: lambda x: gx.cond(ops.sum(x) > 10, f, lambda x: x * 1.0, x))
    run = gx.jit(layer)
    for factor, expected in ((2, 2), (1, 0), (3, 3)):
        run(factor * X)
        assert numbers(layer) == [expected]


def test_an_outermost_call_inside_of_a_loop_leaves_the_terms_of_the_last_turn():
    layer = Mean()
    gx.scan(lambda c, row: (c, layer(row)), 0.0, ops.asarray([[1.0], [2.0], [5.0]]))
    assert numbers(layer) == [5]


# --- maps over rows, plain JAX --------------------------------------------------------------------------------------


@pytest.mark.parametrize("outer", [lambda f: f, gx.jit], ids=["eager", "compiled"])
def test_a_map_over_rows_inside_of_a_call_is_refused(outer):
    layer = Around(lambda f: lambda x: gx.vectorized_map(f, x))
    with pytest.raises(StateError, match=r"'mean/added loss'(.|\n)*self\.add_loss\(ops\.mean\(terms\)\)"):
        outer(layer)(X)

    class Outside(gx.Layer):  # what the message says
        def call(self, x):
            terms, x = gx.vectorized_map(lambda row: (ops.mean(row), row * 1.0), x)
            self.add_loss(ops.mean(terms))
            return x

    outside = Outside()
    outer(outside)(X)
    assert numbers(outside) == [1]


@pytest.mark.broad
def test_a_map_over_rows_around_outermost_calls_sees_the_terms_of_each_row_and_leaves_none():
    layer = Mean()
    layer(X)

    def term(row):
        layer(row)
        return sum(layer.losses)

    rows = ops.asarray([[1.0, 3.0], [2.0, 8.0]])
    assert gx.vectorized_map(term, rows).tolist() == [2, 5]
    np.testing.assert_allclose(gx.vectorized_map(gx.grad(term), rows), np.full((2, 2), 0.5))
    _stays_in(layer, r"graftax\.vectorized_map")


def _stays_in(layer, place):
    with pytest.raises(StateError, match=f"whose terms were added in a {place}(.|\n)*sum\\(model.losses\\)"):
        _ = layer.losses
    layer(4 * X)
    assert numbers(layer) == [4]


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("wrap", [lambda f: f, gx.jit, lambda f: lambda: gx.value_and_grad(f, wrt=gx.Variable(1.0))()])
def test_terms_that_stayed_in_a_map_over_rows_are_never_taken_for_none(wrap):
    layer = Mean()
    layer(X)

    def inside():
        gx.vectorized_map(layer, X)
        return sum(layer.losses)

    with pytest.raises(StateError, match=r"ops\.mean\(terms\); or graftax\.map_fn"):
        wrap(inside)()
    compiled = gx.jit(lambda: gx.vectorized_map(layer, X))
    for _ in range(2):  # the Python of the function runs at the first call alone
        compiled()
        _stays_in(layer, r"graftax\.vectorized_map")
    compiled()
    assert np.isnan(gx.jit(lambda: sum(layer.losses))())  # it is not known while tracing


def test_terms_can_be_read_inside_of_what_plain_jax_traces_and_not_outside():
    layer = Mean()

    def term(x):
        layer(x)
        return sum(layer.losses)

    assert float(jax.jit(term)(3 * X)) == 3
    _stays_in(layer, "function traced outside of graftax")
    np.testing.assert_allclose(jax.grad(term)(X), np.full((4, 2), 1 / 8))
    _stays_in(layer, "function traced outside of graftax")
    gx.jit(layer)(2 * X)
    assert numbers(layer) == [2]


def test_a_functional_call_carries_terms_out_also_in_plain_jax():
    dense = layers.Dense(2, kernel_initializer="identity")
    model = gx.Sequential([dense, Mean()])
    model(X)
    state = gx.state(model)
    gx.functional_call(model, state, 2 * X)
    assert numbers(model) == [2]

    def term(state):
        gx.functional_call(model, state, X)
        return sum(model.losses)

    np.testing.assert_allclose(jax.jit(jax.grad(term))(state)["layers/0/kernel"], np.full((2, 2), 0.5))


def test_plain_jax_around_a_layer_inside_of_a_compiled_function_is_refused():
    layer = Mean()
    with pytest.raises(TracerLeakError, match="mean/added loss"):
        gx.jit(lambda x: jax.vmap(layer)(x))(X)


# --- refused --------------------------------------------------------------------------------------------------------


def test_add_loss_outside_of_a_call_is_refused():
    layer = Mean()
    with pytest.raises(StateError, match=r"add_loss\(\) outside of a call(.|\n)*in call"):
        layer.add_loss(1.0)
    with pytest.raises(StateError, match="outside of a call"), call_context():
        layer.add_loss(1.0)
    assert layer.losses == []


def test_add_loss_in_build_is_refused():
    class Builds(gx.Layer):
        def build(self, input_shape):
            self.add_loss(1.0)

        def call(self, x):
            return x

    for use in (lambda: Builds()(X), lambda: Builds().build((4, 2)), lambda: gx.Sequential([Builds()])(X)):
        with pytest.raises(StateError, match=r"add_loss\(\) in build(.|\n)*regularizer"):
            use()
