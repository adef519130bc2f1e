"""Int8 and Int4: what they store, adapters over them, checkpoints, and what is refused."""

import copy

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.backend import registry
from graftax.core.errors import ArgumentError, CreatorError, GraftError
from graftax.reparam import FakeQuant, Int4, Int8, LoRA, LowRank, Orthogonal, Positive, SpectralNorm, WeightNorm

RNG = np.random.default_rng(0)
W = RNG.normal(size=(5, 3)).astype("float32")  # an odd number of elements
X = RNG.normal(size=(4, 5)).astype("float32")


def dense(creator=None):
    layer = gx.layers.Dense(3)
    layer(X)
    layer.kernel.assign(W)
    if creator is not None:
        gx.graft(layer, creator, where="kernel")
    return layer


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(("creator", "most"), [(Int8(), 127), (Int4(), 7), (Int8("tensor"), 127), (Int4("tensor"), 7)])
def test_the_value_is_a_scale_times_integers(creator, most):
    layer = dense(creator)
    scale = np.abs(W).max(0 if creator.per == "channel" else None) / most
    np.testing.assert_allclose(layer.kernel.scale.numpy(), scale, rtol=1e-6)
    np.testing.assert_allclose(layer.kernel.numpy(), np.round(W / scale) * scale, atol=1e-6)
    np.testing.assert_allclose(layer(X), X @ layer.kernel.numpy(), atol=1e-5)
    assert [v.path for v in layer.trainable_variables] == ["bias"]
    assert layer.kernel.codes.size == (8 if most == 7 else 15)


@pytest.mark.broad
def test_two_codes_in_a_byte():
    with gx.variable_creator_scope(Int4("tensor")):
        w = gx.Variable(np.array([[-7.0, 7.0], [1.0, 0.0]], "float32"))
    assert w.codes.numpy().tolist() == [1 | 15 << 4, 9 | 8 << 4]
    assert w.numpy().tolist() == [[-7.0, 7.0], [1.0, 0.0]]


def test_a_new_layer_is_the_plain_one_rounded():
    kernels = []
    for creator in (Int8(), None):
        gx.set_random_seed(0)
        layer = gx.layers.Dense(3)
        if creator is not None:
            with gx.variable_creator_scope(creator):
                layer.build((5,))
        else:
            layer.build((5,))
        kernels.append(layer.kernel.numpy())
    assert 0 < np.abs(kernels[0] - kernels[1]).max() <= np.abs(kernels[1]).max() / 254 + 1e-6


@pytest.mark.broad
def test_qlora_by_graft_trains_the_adapter_alone_and_folds_back():
    layer = dense(Int4())
    stored = layer.kernel
    codes = stored.codes.numpy()
    gx.graft(layer, LoRA(2), where="kernel")
    assert layer.kernel.base is stored
    weights = layer.trainable_variables
    assert [v.path for v in weights] == ["kernel/adapters/lora/down", "kernel/adapters/lora/up", "bias"]
    optimizer = gx.optimizers.SGD(0.05)

    @gx.jit
    def step():
        loss, gradients = gx.value_and_grad(lambda: ops.mean(layer(X) ** 2), wrt=weights)()
        optimizer.apply(gradients, weights)
        return loss

    losses = [float(step()) for _ in range(5)]
    assert losses[-1] < losses[0]
    np.testing.assert_array_equal(stored.codes.numpy(), codes)
    expected = layer(X)
    gx.ungraft(layer)
    assert isinstance(layer.kernel, gx.Variable)
    assert layer.kernel.trainable
    np.testing.assert_allclose(layer(X), expected, atol=1e-5)


def test_qlora_in_scopes_stores_the_base_and_not_the_adapter():
    with gx.variable_creator_scope(Int8()), gx.variable_creator_scope(LoRA(2)):
        layer = gx.layers.Dense(3)
        layer.build((5,))
    assert {v.path: v.dtype for v in layer.variables} == {
        "kernel/base/codes": "int8",
        "kernel/base/scale": "float32",
        "kernel/adapters/lora/down": "float32",
        "kernel/adapters/lora/up": "float32",
        "bias": "float32",
    }
    assert len(layer.trainable_variables) == 3


@pytest.mark.broad
@pytest.mark.parametrize("creator", [Int8(), Int4()], ids=repr)
def test_saved_restored_and_copied(creator, tmp_path):
    layer = dense(creator)
    gx.Checkpoint(layer=layer).save(tmp_path / "c")
    other = dense(creator)
    other.kernel.assign(0 * W)
    gx.Checkpoint(layer=other).restore(tmp_path / "c").assert_consumed()
    np.testing.assert_array_equal(other.kernel.numpy(), layer.kernel.numpy())
    np.testing.assert_array_equal(copy.deepcopy(layer).kernel.numpy(), layer.kernel.numpy())


def test_graft_and_ungraft():
    layer = dense()
    with pytest.raises(GraftError, match="of its norm away"):
        gx.graft(layer, Int8(), where="kernel", tolerance=1e-3)
    done = gx.graft(layer, Int8(), where="kernel")
    assert 1e-3 < done[0].error < Int8().tolerance
    value = layer.kernel.numpy()
    gx.ungraft(layer)
    assert layer.kernel.trainable
    np.testing.assert_array_equal(layer.kernel.numpy(), value)


def test_under_others():
    with gx.variable_creator_scope(Int8()), gx.variable_creator_scope(WeightNorm()):
        w = gx.Variable(W)
    assert [v.path for v in w.trainable_variables] == ["magnitude"]
    np.testing.assert_allclose(w.numpy(), W, atol=0.02)


@pytest.mark.parametrize(
    "other", [LowRank(1), Positive(), WeightNorm(), SpectralNorm(), Orthogonal(), FakeQuant(), Int8()], ids=repr
)
def test_integers_are_computed_by_nobody(other):
    scopes = gx.variable_creator_scope(other), gx.variable_creator_scope(Int8())
    with scopes[0], scopes[1], pytest.raises(CreatorError, match="codes or counts"):
        gx.Variable(W)


def test_on_the_reference_backend():
    with registry.use("numpy"), gx.variable_creator_scope(Int4()):
        w = gx.Variable(W)
        np.testing.assert_allclose(w.numpy(), W, atol=np.abs(W).max() / 14 + 1e-6)


def test_arguments():
    with pytest.raises(ArgumentError, match="per='row'"):
        Int8("row")
    assert repr(Int4()) == "Int4(per='channel')"
