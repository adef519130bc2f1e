"""An expression that is refused is named by the weight in whose place it was to stand."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers

CREATORS = {
    "FakeQuant": gx.reparam.FakeQuant(),
    "Int4": gx.reparam.Int4(),
    "Int8": gx.reparam.Int8(),
    "LowRank": gx.reparam.LowRank(rank=1),
    "Orthogonal": gx.reparam.Orthogonal(),
    "Positive": gx.reparam.Positive(),
    "SpectralNorm": gx.reparam.SpectralNorm(),
}


@pytest.mark.in_turn(7)
@pytest.mark.parametrize("name", CREATORS)
@pytest.mark.parametrize("deep", [False, True])
def test_a_refused_graft_names_the_weight(name, deep):
    layer = layers.Dense(4)
    layer(np.ones((2, 6), "float32"))
    whole = gx.Sequential([layer]) if deep else layer
    where = "layers/0/kernel" if deep else "kernel"
    with pytest.raises(gx.errors.GraftaxError) as refused:
        gx.graft(whole, CREATORS[name], where=where, tolerance=1e-9)
    assert "''" not in str(refused.value)
    assert where in refused.value.received


def test_an_expression_that_nothing_holds_is_shown_with_its_name():
    with gx.variable_creator_scope(gx.reparam.SpectralNorm()):
        weight = gx.Variable(np.ones((3, 2), "float32"), name="projection")
    assert "'projection'" in repr(weight)
    with pytest.raises(gx.errors.GraftaxError, match="projection"):
        weight.assign(np.ones((2, 2), "float32"))
