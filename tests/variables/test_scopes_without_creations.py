"""A variable_creator_scope in which nothing is created: around calls of built layers, and inside of them."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.core.errors import SelectorError
from graftax.core.globs import Glob

X = np.ones((2, 4), "float32")


class Factorizes(gx.Model):
    def __init__(self, where):
        super().__init__()
        self.out = layers.Dense(3)
        self.where = where

    def call(self, x):
        with gx.variable_creator_scope(gx.reparam.LowRank(1), where=self.where):
            return self.out(x)


def test_a_scope_in_a_call_creates_in_the_first_call_alone():
    model = Factorizes("**/kernel")
    first = np.asarray(model(X))
    np.testing.assert_array_equal(model(X), first)
    np.testing.assert_allclose(gx.jit(model)(X), first, rtol=1e-6)
    assert isinstance(model.out.kernel, gx.Reparam)


def test_a_scope_in_a_call_that_matches_none_of_what_it_creates_is_told():
    with pytest.raises(SelectorError, match="matches none of 2 variables"):
        Factorizes("**/kernl")(X)


def test_a_scope_around_what_is_built_is_told_to_stand_around_construction():
    model = gx.Sequential([layers.Dense(3)])
    model(X)
    with (
        pytest.raises(SelectorError, match=r"nothing was created in the block[\s\S]*around the construction"),
        gx.variable_creator_scope(gx.reparam.LowRank(1), where="**/kernel"),
    ):
        model(X)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("**expert_kernel", "**/expert_kernel"),
        ("**_kernel", "**/*_kernel"),
        ("layers**", "layers/**"),
        ("**kernel", "**/*kernel"),
    ],
)
def test_stars_beside_letters_are_put_right(text, meant):
    found = Glob(text).nearest(["layers/1/expert_kernel", "layers/1/bias", "layers/1/output_kernel"])
    assert found[0] == meant
    assert not any("**/**" in one for one in found)
    assert any(map(Glob(meant).matches, found[1:]))
