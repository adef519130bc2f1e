"""template; names carry the ids of the semantics notes."""

from functools import partial

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core.errors import ArgumentError

X = np.random.default_rng(0).normal(size=(4, 3)).astype("float32")


def test_tp1_calls_share_variables():
    scale = gx.template(lambda x: x * gx.Variable(2.0, name="scale"))
    assert float(scale(1.0)) == 2.0
    scale.variables[0].assign(10.0)
    assert float(scale(1.0)) == 10.0
    assert len(scale.variables) == 1


def test_tp2_other_variables_at_a_later_call():
    def fn(names):
        return [gx.Variable(1.0, name=name) for name in names]

    made = gx.template(fn)
    made(["a", "b"])
    with pytest.raises(
        ArgumentError, match=r"float32\[\] named 'c' as its Variable 1, .* float32\[\] named 'b'"
    ) as caught:
        made(["a", "c"])
    assert isinstance(caught.value, ValueError)
    with pytest.raises(ArgumentError, match="made nothing"):
        made(["a", "b", "c"])
    assert made(["a"])[0] is made.variables[0]
    assert len(made.variables) == 2


@pytest.mark.broad
def test_tp3_plain_variables_and_layers_are_captured_in_order():
    def fn(x):
        x = layers.Dense(5, activation="relu")(x)
        x = layers.Dropout(0.5, seed=1)(x, training=True)
        return layers.Dense(2)(x) + gx.Variable(ops.ones((2,)), name="offset")

    net = gx.template(fn)
    first = np.asarray(net(X))
    assert [v.shape for v in net.trainable_variables] == [(3, 5), (5,), (5, 2), (2,), (2,)]
    assert not np.array_equal(first, net(X)), "the stream of the dropout layer goes on"
    gradient = gx.grad(lambda: ops.sum(net(X)), wrt=net)()
    assert len(gradient) == 5


def test_tp4_bound_arguments_and_those_of_the_call():
    scaled = gx.template(partial(lambda x, by=1.0: x * by * gx.Variable(1.0), by=3.0))
    assert [float(scaled(1.0)), float(scaled(1.0, by=5.0))] == [3.0, 5.0]


def test_tp5_two_templates_of_one_name_share_nothing():
    one, two = (gx.template(lambda: gx.Variable(0.0), name="same") for _ in range(2))
    assert one() is one()
    assert one() is not two()


def test_compiled_saved_and_in_a_model():
    net = gx.template(lambda x: layers.Dense(2)(x))

    class Model(gx.Module):
        def __init__(self):
            self.net = net

    model = Model()
    step = gx.jit(lambda x: net(x))
    found = np.asarray(step(X))
    np.testing.assert_allclose(found, net(X), rtol=1e-5, atol=1e-6)
    assert len(model.variables) == 2
    assert {path.partition("/")[0] for path in gx.state(model)} == {"net"}
    net.variables[1].assign([1.0, 2.0])
    np.testing.assert_allclose(step(X), found + np.float32([1.0, 2.0]), rtol=1e-5, atol=1e-6)


def test_a_first_call_that_fails_is_none():
    net = gx.template(lambda shape: gx.Variable(np.ones(shape)) + (1 / shape))
    with pytest.raises(ZeroDivisionError):
        net(0)
    assert net(2).shape == (2,)
    assert len(net.variables) == 1


def test_creators_around_a_template_see_the_first_call_only():
    seen = []

    def creator(next_creator, spec):
        seen.append(spec.name)
        return next_creator(spec)

    net = gx.template(lambda: gx.Variable(0.0, name="v"))
    with gx.variable_creator_scope(creator):
        net(), net()
    assert seen == ["v"]
