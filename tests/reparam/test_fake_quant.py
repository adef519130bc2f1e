"""FakeQuant against torch, and a transcription in NumPy of both grids."""

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.backend import registry
from graftax.core.errors import ArgumentError, CreatorError, GraftError
from graftax.reparam import FakeQuant, Int4, Int8, WeightNorm

RNG = np.random.default_rng(0)
W = RNG.normal(size=(6, 5)).astype("float32")
X = RNG.normal(size=(3, 6)).astype("float32")


def weight(creator, value=W):
    with gx.variable_creator_scope(creator):
        return gx.Variable(value)


def rounded(value, bits, per, symmetric):
    value = value.astype("float64")
    axis = 0 if per == "channel" else None
    if symmetric:
        scale, zero, low, high = np.abs(value).max(axis) / (2 ** (bits - 1) - 1), 0, -np.inf, np.inf
    else:
        least, most = np.minimum(value.min(axis), 0), np.maximum(value.max(axis), 0)
        scale, low, high = (most - least) / (2**bits - 1), 0, 2**bits - 1
        zero = np.round(-least / scale)
    return (np.clip(np.round(value / scale) + zero, low, high) - zero) * scale


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("per", ["tensor", "channel"])
def test_the_grid(per, symmetric):
    for bits in (2, 4, 8):
        w = weight(FakeQuant(bits, per, symmetric))
        np.testing.assert_allclose(w.numpy(), rounded(W, bits, per, symmetric), atol=1e-5)
        assert len(np.unique(w.numpy()[:, 0])) <= 2**bits


def test_torch_rounds_the_same():
    torch = pytest.importorskip("torch")
    scale = np.abs(W).max(0) / 7
    theirs = torch.fake_quantize_per_channel_affine(
        torch.tensor(W), torch.tensor(scale), torch.zeros(5, dtype=torch.int32), 1, -7, 7
    )
    np.testing.assert_allclose(weight(FakeQuant(4, "channel")).numpy(), theirs, atol=1e-6)


def test_the_gradient_goes_straight_through_and_the_value_lies_on_the_grid():
    w = weight(FakeQuant(3))
    run = gx.jit(lambda: gx.value_and_grad(lambda: ops.sum(ops.square(ops.matmul(X, w))), wrt=w)())
    value, gradient = run()
    grid = rounded(W, 3, "tensor", True)
    np.testing.assert_allclose(value, ((X @ grid) ** 2).sum(), rtol=1e-5)
    np.testing.assert_allclose(gradient["base"], 2 * X.T @ (X @ grid), rtol=1e-4, atol=1e-4)


def test_weights_of_zeros_stay_zeros():
    for symmetric in (True, False):
        assert not weight(FakeQuant(4, symmetric=symmetric), np.zeros((2, 3), "float32")).numpy().any()


def test_graft_lets_it_round_as_far_as_it_states():
    layer = gx.layers.Dense(5, use_bias=False)
    layer.build((6,))
    kernel = layer.kernel
    kernel.assign(W)
    done = gx.graft(layer, FakeQuant(4))
    error = np.linalg.norm(rounded(W, 4, "tensor", True) - W) / np.linalg.norm(W)
    assert 1e-3 < done[0].error == pytest.approx(error, rel=1e-3)
    assert layer.kernel.base is kernel
    np.testing.assert_array_equal(kernel.numpy(), W)
    gx.ungraft(layer)
    with pytest.raises(GraftError, match="tolerance=0.001"):
        gx.graft(layer, FakeQuant(3), tolerance=1e-3)
    outlier = np.full((6, 5), 0.01, "float32")
    outlier[0, 0] = 1
    layer.kernel.assign(outlier)
    with pytest.raises(GraftError, match="of its norm away"):
        gx.graft(layer, FakeQuant(8, symmetric=False), tolerance=1e-4)


@pytest.mark.broad
def test_what_was_trained_so_is_stored_without_loss():
    layer = gx.layers.Dense(5)
    layer(X)
    gx.graft(layer, FakeQuant(4, "channel"), where="kernel")
    expected = layer(X)
    gx.ungraft(layer)
    done = gx.graft(layer, Int4(), where="kernel")
    assert done[0].error < 1e-6
    np.testing.assert_allclose(layer(X), expected, atol=1e-6)


def test_over_and_under_others():
    with gx.variable_creator_scope(FakeQuant(3)):
        w = weight(WeightNorm())
    np.testing.assert_allclose(w.direction.numpy(), rounded(W, 3, "tensor", True), atol=1e-6)
    with gx.variable_creator_scope(WeightNorm()):
        w = weight(FakeQuant(3))
    np.testing.assert_allclose(w.numpy(), rounded(W, 3, "tensor", True), atol=1e-5)
    assert isinstance(weight(FakeQuant(), np.ones(3, "float32")), gx.Variable)


@pytest.mark.parametrize("storage", [Int8(), Int4()], ids=repr)
def test_refused_over_integers(storage):
    with gx.variable_creator_scope(storage), pytest.raises(CreatorError, match="stores as integers"):
        weight(FakeQuant())


def test_on_the_reference_backend():
    with registry.use("numpy"):
        np.testing.assert_allclose(weight(FakeQuant(4)).numpy(), rounded(W, 4, "tensor", True), atol=1e-6)


def test_arguments():
    for bits in (1, 17, 4.0):
        with pytest.raises(ArgumentError, match="2 to 16 bits"):
            FakeQuant(bits)
    with pytest.raises(ArgumentError, match="per='row'"):
        FakeQuant(per="row")
    assert repr(FakeQuant(4)) == "FakeQuant(bits=4, per='tensor', symmetric=True)"
