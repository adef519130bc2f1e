"""Expressions of the user: what `graft` says of their inverses, and whether a call is one of training."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.backend import registry
from graftax.core.errors import AssignmentError, GraftError

X = np.ones((2, 3), "float32")


class Share(gx.Reparam):
    """Its parts start at 0, of which it makes nan."""

    def __init__(self, next_creator, spec):
        super().__init__(spec)
        self.part = next_creator(spec.replace(name="part", initializer=gx.initializers.Zeros()))

    def forward(self):
        return self.part / ops.sum(self.part)


class Returning(Share):
    def inverse(self, value):
        return value * 2


class Listing(Share):
    def inverse(self, value):
        return [value]


class Useless(Share):
    def inverse(self, value):
        self.part.assign(value * 0)


class Assigning(gx.Reparam):
    """Its inverse returns what `assign` gives, which is no value."""

    def __init__(self, next_creator, spec):
        super().__init__(spec)
        self.half = next_creator(spec.replace(name="half", initializer=gx.initializers.Zeros()))

    def forward(self):
        return self.half * 2

    def inverse(self, value):
        return self.half.assign(value / 2)


def dense():
    layer = layers.Dense(1)
    layer(X)
    return layer


@pytest.mark.parametrize(
    ("creator", "error", "told", "instead"),
    [
        (Share, AssignmentError, "defines no inverse", "part"),
        (Returning, AssignmentError, "it assigns the parts itself", r"self.part.assign"),
        (Listing, AssignmentError, "Listing.inverse of 'kernel' returned a list", r"self.part.assign"),
        (Useless, GraftError, "nan after Useless.inverse", "an inverse that assigns"),
    ],
)
def test_graft_says_what_is_wrong_with_an_inverse_and_changes_nothing(creator, error, told, instead):
    layer = dense()
    kernel = layer.kernel
    with pytest.raises(error, match=told) as caught:
        gx.graft(layer, creator, where="kernel")
    assert instead in caught.value.instead
    assert "kernel" in str(caught.value)
    assert layer.kernel is kernel


class Normed(gx.Reparam):
    """Has the weight that was there as its base, moves its value, and cannot be assigned one."""

    def __init__(self, next_creator, spec):
        super().__init__(spec)
        self.base = next_creator(spec.replace(name="base"))

    def forward(self):
        return self.base / ops.norm(self.base)


def test_graft_says_which_method_an_expression_lacks():
    with registry.use("numpy"):
        layer = dense()
        layer.kernel.assign(ops.full((3, 1), 5.0))
        with pytest.raises(
            AssignmentError, match=r"changes by 0\.88 of its norm \(tolerance=0\.93 allows this\)"
        ) as caught:
            gx.graft(layer, Normed, where="kernel", tolerance=0.5)
        assert caught.value.instead.startswith("def inverse(self, value) in Normed, with self.base.assign(...); or")
        with pytest.raises(AssignmentError, match="defines no inverse") as caught:
            gx.graft(layer, gx.reparam.HyperNetwork(layers.Dense(2)), where="kernel")
        assert caught.value.instead.startswith("assign to its parts")


def test_an_expression_without_an_inverse_may_move_as_far_as_is_said():
    with registry.use("numpy"):
        layer = dense()
        layer.kernel.assign(ops.full((3, 1), 5.0))
        (done,) = gx.graft(layer, Normed, where="kernel", tolerance=100.0)
        np.testing.assert_allclose(layer.kernel, np.full((3, 1), 3**-0.5), rtol=1e-6)
        np.testing.assert_allclose(done.error, 1 - 1 / (5 * 3**0.5), rtol=1e-5)
        gx.graft(layer, lambda next_creator, spec: Normed(next_creator, spec), where="kernel")  # it is of norm 1


def test_a_weight_that_is_nan_itself_is_told_as_such():
    layer = dense()
    layer.kernel.assign(np.full((3, 1), np.nan))
    with pytest.raises(GraftError, match="'kernel' or what") as caught:
        gx.graft(layer, Assigning, where="kernel")
    assert "nan_to_num" in caught.value.instead


def test_an_inverse_may_return_the_variable_that_it_assigned():
    layer = dense()
    before = layer(X)
    gx.graft(layer, Assigning, where="kernel")
    np.testing.assert_allclose(layer(X), before, rtol=1e-6)


@pytest.mark.parametrize("wrap", [lambda f: f, gx.jit], ids=["eager", "compiled"])
def test_an_expression_knows_whether_a_call_is_one_of_training(wrap):
    class Doubled(gx.Reparam):
        def __init__(self, next_creator, spec):
            super().__init__(spec)
            self.part = next_creator(spec.replace(name="part"))

        def forward(self):
            return self.part * (2 if self.training else 1)

    with gx.variable_creator_scope(Doubled, where="kernel"):
        layer = layers.Dense(1)
        plain = layer(X)
    run = wrap(lambda x, training: layer(x, training=True) if training == "yes" else layer(x))
    np.testing.assert_allclose(run(X, "no"), plain, rtol=1e-6)
    np.testing.assert_allclose(run(X, "yes"), 2 * plain, rtol=1e-6)
    assert not layer.kernel.training
