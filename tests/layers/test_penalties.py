"""Which penalties of weights count: those that Variables, or the expressions in their place, have now; each once."""

import copy

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.regularizers import L1, L2

X = np.ones((4, 3), "float32")
Y = np.ones((4, 1), "float32")


class Own(gx.Layer):
    """Has a Variable of its own, made without `add_weight`."""

    def __init__(self, regularizer=None):
        super().__init__()
        self.w = gx.Variable([2.0], regularizer=regularizer, name="w")

    def call(self, x):
        return x * self.w


class Half(gx.Reparam):
    """Twice a part, which has a penalty of its own."""

    def __init__(self, next_creator, spec):
        super().__init__(spec)
        self.part = next_creator(spec.replace(name="part", regularizer=L2(7.0)))

    def forward(self):
        return self.part * 2


class Wrapped(gx.Reparam):
    """The weight itself, asked for as it was."""

    def __init__(self, next_creator, spec):
        super().__init__(spec)
        self.inner = next_creator(spec)

    def forward(self):
        return self.inner * 1.0


def squares(weight):
    return float((weight.numpy() ** 2).sum())


def dense(**settings):
    layer = layers.Dense(1, kernel_initializer="ones", **settings)
    layer(X)
    return layer


def numbers(layer):
    return [pytest.approx(float(loss), rel=1e-5) for loss in layer.losses]


def test_a_penalty_counts_however_the_variable_was_made():
    held_in_a_list = gx.Sequential([Own()])
    held_in_a_list.extra = [{"a": gx.Variable([3.0], regularizer=L1(2.0))}]
    assert numbers(Own(L2(3.0))) == [12.0]
    assert numbers(held_in_a_list) == [6.0]


@pytest.mark.broad
def test_evaluate_and_fit_have_it_in_their_loss():
    model = gx.Sequential([Own(L2(3.0))])
    model(X)
    model.compile(gx.optimizers.SGD(0.1), gx.losses.MeanSquaredError())
    target = np.ones((4, 3), "float32")
    assert model.evaluate(X, target, verbose=0)["loss"] == pytest.approx(1 + 12)
    model.fit(X, target, verbose=0)
    assert float(model.layers[0].w.value[0]) == pytest.approx(2 - 0.1 * (2 + 2 * 3 * 2))


def test_a_penalty_set_changed_and_removed_later_is_the_one_that_counts():
    layer = dense(kernel_regularizer="l2")
    for given, factor in ((L2(10.0), 10), ("l2", 0.01), (L2(2.0), 2)):
        layer.kernel.regularizer = given
        assert [factor * 3] == numbers(layer)
    layer.kernel.regularizer = None
    assert layer.losses == []
    with pytest.raises(gx.errors.ArgumentError, match="l3"):
        layer.kernel.regularizer = "l3"
    assert layer.kernel.regularizer is None


@pytest.mark.broad
@pytest.mark.optimized
def test_compiled_code_follows_a_change_with_one_new_trace():
    model = gx.Sequential([layers.Dense(1, kernel_initializer="ones")])
    model(X)
    total = gx.jit(lambda: sum(model.losses) + 0.0)
    model.compile(gx.optimizers.SGD(0.0), "mse")
    plain = model.evaluate(X, Y, verbose=0)["loss"]
    for given, expected, traces in ((None, 0, 1), (L2(10.0), 30, 2), (L1(1.0), 3, 3)):
        model.layers[0].kernel.regularizer = given
        for _ in range(2):
            assert float(total()) == pytest.approx(expected)
            assert total.trace_count == traces
        assert model.evaluate(X, Y, verbose=0)["loss"] == pytest.approx(plain + expected)


@pytest.mark.parametrize("there", [None, "l2"])
def test_what_a_creator_puts_on_a_weight_or_takes_away_counts(there):
    for given, expected in ((None, []), (L2(1.0), [3.0])):
        with gx.variable_creator_scope(lambda make, spec, r=given: make(spec.replace(regularizer=r)), where="kernel"):
            layer = dense(kernel_regularizer=there)
        assert expected == numbers(layer)


def test_parts_of_an_expression_have_penalties_of_their_own():
    with gx.variable_creator_scope(Half, where="kernel"):
        layer = dense()
    assert [7 * squares(layer.kernel.part)] == numbers(layer)
    layer.kernel.regularizer = "l2"
    assert [0.01 * squares(layer.kernel), 7 * squares(layer.kernel.part)] == numbers(layer)


def test_a_part_that_was_asked_for_as_the_whole_does_not_count_twice():
    with gx.variable_creator_scope(Wrapped, where="kernel"):
        layer = dense(kernel_regularizer="l2")
    assert numbers(layer) == [0.03]


@pytest.mark.parametrize(
    "creator",
    [gx.reparam.LoRA(rank=1), gx.reparam.DoRA(rank=1), gx.reparam.WeightNorm(), gx.reparam.Mask()],
    ids=["LoRA", "DoRA", "WeightNorm", "Mask"],
)
def test_a_graft_keeps_the_penalty_on_the_whole_weight_once_until_it_is_folded(creator):
    layer = dense(kernel_regularizer=L2(1.0))
    gx.graft(layer, creator, where="kernel")
    assert numbers(layer) == [3.0]
    layer.kernel.regularizer = L2(2.0)
    assert numbers(layer) == [6.0]
    gx.ungraft(layer)
    assert numbers(layer) == [6.0]
    assert isinstance(layer.kernel.regularizer, L2)


def test_a_penalty_taken_from_a_grafted_weight_is_gone_and_comes_back_nowhere():
    layer = dense(kernel_regularizer=L2(1.0))
    gx.graft(layer, gx.reparam.LoRA(rank=1), where="kernel")
    layer.kernel.regularizer = None
    assert layer.losses == []
    gx.ungraft(layer)
    assert layer.losses == []


def test_a_weight_without_adapters_has_its_penalty_again():
    layer = dense(kernel_regularizer=L2(1.0))
    gx.graft(layer, gx.reparam.LoRA(rank=1), where="kernel")
    gx.adapters.remove(layer, "lora")
    assert isinstance(layer.kernel, gx.Variable)
    assert numbers(layer) == [3.0]


def test_a_graft_that_fails_leaves_the_penalty_where_it_was():
    class Wrong(gx.Reparam):
        def __init__(self, next_creator, spec):
            super().__init__(spec)
            self.base = next_creator(spec.replace(name="base"))

        def forward(self):
            return self.base * 2

        def inverse(self, value):
            pass

    layer = dense(kernel_regularizer=L2(1.0))
    with pytest.raises(gx.errors.GraftError):
        gx.graft(layer, Wrong, where="kernel")
    assert numbers(layer) == [3.0]


def test_a_weight_that_two_layers_hold_counts_once():
    first = dense(kernel_regularizer=L2(1.0))
    with gx.variable_creator_scope(lambda make, spec: first.kernel, where="kernel"):
        second = dense(kernel_regularizer=L2(5.0))
    both = gx.Sequential([first, second])
    assert second.kernel is first.kernel
    assert [3.0] == numbers(both) == numbers(second)


def test_a_weight_of_another_layer_without_a_penalty_takes_the_one_asked_for():
    first = dense()
    with gx.variable_creator_scope(lambda make, spec: first.kernel, where="kernel"):
        second = dense(kernel_regularizer=L2(5.0))
    assert numbers(gx.Sequential([first, second])) == [15.0]
    assert isinstance(first.kernel.regularizer, L2)


def test_frozen_weights_have_no_penalty():
    layer = Own(L2(3.0))
    layer.w.trainable = False
    assert layer.losses == []
    layer.w.trainable = True
    layer.trainable = False
    assert layer.losses == []


def test_copies_have_penalties_of_their_own():
    layer = Own(L2(3.0))
    twin = copy.deepcopy(layer)
    layer.w.regularizer = None
    assert numbers(twin) == [12.0]
    assert layer.losses == []
