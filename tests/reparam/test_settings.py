"""The numbers that expressions behind weights are made with."""

import math

import numpy as np
import pytest

import graftax as gx
from graftax import reparam
from graftax.core.errors import ArgumentError, ArgumentTypeError, ShapeError


@pytest.mark.parametrize(
    "make",
    [
        lambda: reparam.LoRA(2, alpha=math.inf),
        lambda: reparam.SpectralNorm(epsilon=math.inf),
        lambda: reparam.Positive(floor=math.inf),
        lambda: reparam.VariationalNormal(kl_weight=math.inf),
        lambda: reparam.VariationalNormal(prior_stddev=math.inf),
        lambda: reparam.VariationalNormal(stddev=math.inf),
    ],
)
def test_infinity_is_no_setting(make):
    with pytest.raises(ArgumentError, match="inf"):
        make()


def test_integers_of_numpy():
    n = np.int64(4)
    assert reparam.LoRA(n).rank == reparam.LowRank(n).rank == 4
    assert reparam.FakeQuant(n).bits == reparam.SpectralNorm(n).iterations == 4
    assert reparam.HyperNetwork(gx.layers.Dense(8), n).embedding_size == 4


def _grafted(creator):
    layer = gx.layers.Dense(2)
    layer.build((3,))
    gx.graft(layer, creator, where="kernel")
    return layer


def test_a_large_spread():
    spread = gx.ops.softplus(_grafted(reparam.VariationalNormal(stddev=1e4)).kernel.rho)
    assert np.allclose(spread, 1e4)


@pytest.mark.parametrize("tolerance", ["a", -1, math.nan, True])
def test_merge_says_what_a_tolerance_is(tolerance):
    layer = _grafted(reparam.LoRA(1))
    with pytest.raises(ArgumentError, match="tolerance="):
        gx.adapters.merge(layer, "lora", tolerance=tolerance)
    assert gx.adapters.names(layer) == ["lora"]


def test_prune_takes_one_fraction_and_a_flag():
    layer = _grafted(reparam.Mask())
    with pytest.raises(ShapeError, match="fraction of shape"):
        reparam.prune(layer, [0.5, 0.5])
    with pytest.raises(ArgumentTypeError, match="globally="):
        reparam.prune(layer, 0.5, globally="no")
