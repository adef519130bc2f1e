import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from tests.conformance.lanes import crossed

X = np.random.default_rng(0).normal(3, 2, size=(4, 5, 6)).astype("float32")


@pytest.mark.parametrize("axis", [-1, 1, (1, 2), [2, 1], (-2,)])
def test_values_are_those_of_keras(keras, axis):
    ours = layers.LayerNormalization(axis, beta_initializer="random_normal")
    theirs = keras.layers.LayerNormalization(axis)
    out, _ = ours(X), theirs(X)
    assert ours.gamma.shape == tuple(theirs.gamma.shape)
    ours.gamma.assign(np.random.default_rng(1).uniform(0.5, 1.5, ours.gamma.shape).astype("float32"))
    theirs.set_weights([v.numpy() for v in ours.variables])
    out = ours(X)
    np.testing.assert_allclose(out, theirs(X), rtol=1e-4, atol=1e-4)


def test_gradients_are_those_of_torch(torch):
    layer = layers.LayerNormalization(epsilon=1e-5)
    layer(X)
    layer.gamma.assign(np.linspace(0.5, 1.5, 6, dtype="float32"))
    mix = np.linspace(-1, 1, X.size, dtype="float32").reshape(X.shape)
    by_x = gx.grad(lambda x: ops.sum(layer(x) * mix))(ops.asarray(X))
    by_weights = gx.grad(lambda: ops.sum(layer(X) * mix), wrt=[layer.gamma, layer.beta])()
    gamma, beta, x = (torch.tensor(np.array(v), requires_grad=True) for v in (layer.gamma, layer.beta, X))
    (torch.nn.functional.layer_norm(x, (6,), gamma, beta, 1e-5) * torch.tensor(mix)).sum().backward()
    for mine, other in ((by_x, x), (by_weights[0], gamma), (by_weights[1], beta)):
        np.testing.assert_allclose(mine, other.grad, rtol=1e-3, atol=1e-4)


def test_mean_and_variance():
    out = np.asarray(layers.LayerNormalization(epsilon=0.0)(X))
    np.testing.assert_allclose(out.mean(-1), 0, atol=1e-5)
    np.testing.assert_allclose(out.var(-1), 1, rtol=1e-4)


def test_a_large_offset_loses_nothing():
    out = layers.LayerNormalization(epsilon=0.0)(np.float32([[1e4 - 1, 1e4 + 1]]))
    np.testing.assert_allclose(out, [[-1, 1]], rtol=1e-5)


def test_without_weights():
    layer = layers.LayerNormalization(center=False, scale=False)
    layer(X)
    assert layer.variables == []


def test_other_sizes_are_refused():
    layer = layers.LayerNormalization(name="norm")
    layer(X)
    with pytest.raises(gx.errors.ShapeError, match=r"\(4, 5, 7\)(.|\n)*'norm'(.|\n)*\(6,\)"):
        layer(np.ones((4, 5, 7), "float32"))
    with pytest.raises(gx.errors.ShapeError, match="axis = 3"):
        layers.LayerNormalization(3)(X)


def test_epsilon_is_checked():
    with pytest.raises(gx.errors.ArgumentError, match="epsilon=-1"):
        layers.LayerNormalization(epsilon=-1)


@pytest.mark.broad
@pytest.mark.parametrize(("axis", "filler"), crossed([-1, 1, [1, 2], 0, [0, 2]], [0.0, 1e6, np.nan]), ids=str)
def test_what_a_mask_hides_does_not_count(axis, filler):
    axis = tuple(axis) if type(axis) is list else axis
    shown = np.array([[1, 1, 0, 0, 1]] * 3 + [[1, 0, 0, 1, 1]], bool)
    x = np.where(shown[..., None], X, np.float32(filler))
    layer = layers.LayerNormalization(axis, epsilon=0.01)
    hidden = np.ma.masked_array(X.astype("float64"), np.broadcast_to(~shown[..., None], X.shape))
    mean, variance = (getattr(hidden, what)(axis=axis, keepdims=True) for what in ("mean", "var"))
    wanted = (hidden - mean) / np.ma.sqrt(variance + 0.01)
    for call in (layer, gx.jit(lambda x, mask: layer(x, mask=mask))):
        out = np.asarray(call(x, mask=shown))
        assert np.isfinite(out).all()
        np.testing.assert_allclose(out[shown], wanted.data[shown], rtol=1e-4, atol=1e-4)
    slope = gx.jit(gx.grad(lambda x: ops.sum(layer(x, mask=shown)[0, 0] ** 3)))(x)
    assert np.isfinite(np.asarray(slope)).all()
    if axis != -1:
        assert (np.asarray(slope)[~shown] == 0).all()


def test_a_row_that_is_hidden_throughout_is_finite():
    out = layers.LayerNormalization((1, 2))(X, mask=np.zeros((4, 5), bool))
    assert np.isfinite(np.asarray(out)).all()
