"""A graft onto a graft keeps the first one as a part, or is refused: nothing that was learned is folded away."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.core.errors import GraftError
from graftax.reparam import (
    DoRA,
    FakeQuant,
    Int8,
    LoRA,
    LowRank,
    Mask,
    Orthogonal,
    Positive,
    SpectralNorm,
    VariationalNormal,
    WeightNorm,
)

X = np.sin(np.arange(12, dtype="float32")).reshape(3, 4)
KEEPS = {
    "LoRA": LoRA(1),
    "DoRA": DoRA(1),
    "FakeQuant": FakeQuant(bits=16),
    "Mask": Mask(),
    "SpectralNorm": SpectralNorm(),
    "VariationalNormal": VariationalNormal(),
    "WeightNorm": WeightNorm(),
}
REFUSED = {"Int8": Int8(), "LowRank": LowRank(4), "Orthogonal": Orthogonal(), "Positive": Positive()}
FIRST = {
    "adapter": lambda: LoRA(1, name="poet"),
    "weight norm": WeightNorm,
    "mask": Mask,
    "low rank": lambda: LowRank(4),
}


def grafted(first):
    layer = layers.Dense(4)
    layer.build((3, 4))
    gx.graft(layer, FIRST[first](), where="kernel")
    return layer


@pytest.mark.broad
@pytest.mark.in_turn(2)
@pytest.mark.parametrize("first", FIRST)
@pytest.mark.parametrize("creator", KEEPS)
def test_the_first_graft_goes_on_as_a_part_of_the_second(first, creator):
    layer = grafted(first)
    before, leaves = np.asarray(layer(X)), [v for v in layer.variables if v is not layer.bias]
    gx.graft(layer, KEEPS[creator], where="kernel", tolerance=2.0)
    assert all(any(leaf is v for v in layer.kernel.variables) for leaf in leaves)
    if creator != "SpectralNorm":
        np.testing.assert_allclose(layer(X), before, atol=1e-3)
    gx.ungraft(layer)
    assert isinstance(layer.kernel, gx.Variable)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("creator", REFUSED)
def test_a_graft_that_would_fold_another_is_refused(creator):
    layer = grafted("adapter")
    before = [(v.path, v.trainable, v.numpy()) for v in layer.variables]
    with pytest.raises(GraftError, match=r"kernel/adapters/poet/down(?s:.)*ungraft\(module, 'kernel'\)"):
        gx.graft(layer, REFUSED[creator], where="kernel", tolerance=2.0)
    after = [(v.path, v.trainable, v.numpy()) for v in layer.variables]
    assert [one[:2] for one in after] == [one[:2] for one in before]
    assert all((a[2] == b[2]).all() for a, b in zip(after, before, strict=True))
    gx.ungraft(layer)
    layer.kernel.assign(np.abs(layer.kernel.numpy()) + 0.1)  # all of it above 0, for Positive
    gx.graft(layer, REFUSED[creator], where="kernel", tolerance=2.0)


def test_an_adapter_below_weight_norm_is_what_trains():
    model = gx.Sequential([layers.Dense(3), layers.Dense(2)])
    model(X)
    gx.graft(model, LoRA(rank=1, name="poet"), where="**/kernel")
    model.freeze(~gx.is_adapter)
    gx.graft(model, WeightNorm(), where="**/kernel")
    assert gx.adapters.names(model) == ["poet"]
    assert "layers/0/kernel/direction/base" not in [v.path for v in model.trainable_variables]


@pytest.mark.broad
def test_what_is_pruned_stays_so_below_weight_norm():
    layer = grafted("mask")
    gx.reparam.prune(layer, 0.5)
    gx.graft(layer, WeightNorm(), where="kernel")
    optimizer = gx.optimizers.SGD(0.5)
    optimizer.minimize(lambda: gx.ops.sum(layer(X) ** 2), layer.trainable_variables)
    assert (layer.kernel.numpy() == 0).mean() == 0.5


def test_weight_norm_hands_the_variable_and_its_slots_back():
    layer = layers.Dense(4)
    layer.build((3, 4))
    kernel, optimizer = layer.kernel, gx.optimizers.SGD(0.1, momentum=0.9)
    optimizer.minimize(lambda: gx.ops.sum(layer(X) ** 2), layer.trainable_variables)
    gx.graft(layer, WeightNorm(), where="kernel")
    assert layer.kernel.direction is kernel
    gx.ungraft(layer)
    assert layer.kernel is kernel
    assert np.abs(optimizer.slot(kernel, "momentum").numpy()).max() > 0
