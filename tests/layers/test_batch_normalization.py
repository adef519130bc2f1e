import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops

X = np.random.default_rng(0).normal(3, 2, size=(8, 5, 4, 3)).astype("float32")
PAIR = np.float32([[1], [3]])


def moving(layer):
    return layer.moving_mean.numpy().tolist(), layer.moving_variance.numpy().tolist()


def test_kl9_one_step():
    layer = layers.BatchNormalization(momentum=0.9)
    np.testing.assert_allclose(layer(PAIR, training=True), [[-0.9995], [0.9995]], atol=1e-6)
    np.testing.assert_allclose(moving(layer), [[0.2], [1.0]], rtol=1e-6)


def test_kl9_the_unbiased_variance_on_request(torch):
    layer = layers.BatchNormalization(momentum=0.9, unbiased_moving_variance=True)
    other = torch.nn.BatchNorm1d(1, eps=1e-3, momentum=0.1)
    np.testing.assert_allclose(layer(PAIR, training=True), other(torch.tensor(PAIR)).detach(), rtol=1e-5)
    np.testing.assert_allclose(moving(layer), [other.running_mean.tolist(), other.running_var.tolist()], rtol=1e-6)
    assert moving(layer)[1] == pytest.approx([1.1])


@pytest.mark.parametrize("axis", [-1, 1])
def test_values_are_those_of_keras(keras, axis):
    ours, theirs = layers.BatchNormalization(axis, momentum=0.7), keras.layers.BatchNormalization(axis, momentum=0.7)
    for step in range(3):
        batch = X * (step + 1)
        np.testing.assert_allclose(ours(batch, training=True), theirs(batch, training=True), rtol=1e-3, atol=1e-4)
    assert [v.name for v in ours.variables] == [v.name for v in theirs.variables]
    for mine, other in zip(ours.variables, theirs.variables, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(ours(X), theirs(X), rtol=1e-4, atol=1e-4)


def test_the_gradient_goes_through_the_statistics(torch):
    layer = layers.BatchNormalization()
    layer(X)
    layer.gamma.assign([0.5, 1.5, -1.0])
    mix = np.linspace(-1, 1, X.size, dtype="float32").reshape(X.shape)

    def loss(x):
        return ops.sum(layer(x, training=True) * mix)

    by_x = gx.grad(loss)(ops.asarray(X))
    by_weights = gx.grad(lambda: loss(X), wrt=[layer.gamma, layer.beta])()
    gamma, beta, x = (torch.tensor(np.array(v), requires_grad=True) for v in (layer.gamma, np.zeros(3, "f"), X))
    out = torch.nn.functional.batch_norm(x.permute(0, 3, 1, 2), None, None, gamma, beta, training=True, eps=1e-3)
    (out.permute(0, 2, 3, 1) * torch.tensor(mix)).sum().backward()
    for mine, other in ((by_x, x), (by_weights[0], gamma), (by_weights[1], beta)):
        np.testing.assert_allclose(mine, other.grad, rtol=1e-3, atol=1e-4)


def test_names_roles_defaults():
    layer = layers.BatchNormalization()
    layer(X)
    found = [(v.path, v.role, v.trainable, float(v.numpy()[0])) for v in layer.variables]
    assert found == [
        ("gamma", "weight", True, 1),
        ("beta", "weight", True, 0),
        ("moving_mean", "state", False, 0),
        ("moving_variance", "state", False, 1),
    ]
    assert (layer.momentum, layer.epsilon) == (0.99, 1e-3)
    bare = layers.BatchNormalization(center=False, scale=False)
    bare(X)
    assert [v.path for v in bare.variables] == ["moving_mean", "moving_variance"]


def test_kl6_inference_moves_nothing():
    layer = layers.BatchNormalization()
    layer(X, training=True)
    before = moving(layer)
    for out in (layer(X), layer(X, training=False)):
        mean, variance = map(np.float32, before)
        np.testing.assert_allclose(out, (X - mean) / np.sqrt(variance + 1e-3), rtol=1e-4, atol=1e-5)
    assert moving(layer) == before


def test_kl8_frozen_is_inference():
    layer = layers.BatchNormalization()
    layer(X)
    layer.trainable = False
    before = moving(layer)
    np.testing.assert_array_equal(layer(X, training=True), layer(X, training=False))
    assert moving(layer) == before


@pytest.mark.broad
def test_kl8_a_compiled_step_notices():
    layer = layers.BatchNormalization(momentum=0.5)
    step = gx.jit(lambda x: layer(x, training=True))
    step(PAIR)
    after_one = moving(layer)
    assert after_one[0] == [1.0]
    layer.trainable = False
    step(PAIR)
    assert moving(layer) == after_one
    layer.trainable = True
    step(PAIR)
    assert moving(layer)[0] == [1.5]


@pytest.mark.broad
def test_the_averages_move_inside_a_compiled_gradient():
    layer = layers.BatchNormalization(momentum=0.5)
    layer(PAIR)
    weights = layer.trainable_variables
    run = gx.jit(lambda x: gx.value_and_grad(lambda: ops.sum(layer(x, training=True) ** 2), wrt=weights)())
    run(PAIR)
    run(PAIR)
    np.testing.assert_allclose(moving(layer), [[1.5], [1.0]], rtol=1e-6)
    assert run.trace_count == 1


def test_masked_positions_do_not_count(keras):
    x = X[:2].reshape(2, 20, 3)
    mask = np.arange(20) < np.array([[5], [12]])
    layer, other = layers.BatchNormalization(momentum=0.5), keras.layers.BatchNormalization(momentum=0.5)
    out = layer(x, mask=mask, training=True)
    seen = x[mask]
    np.testing.assert_allclose(layer.moving_mean, seen.mean(0) / 2, rtol=1e-5)
    np.testing.assert_allclose(layer.moving_variance, 0.5 + seen.var(0) / 2, rtol=1e-5)
    np.testing.assert_allclose(out, (x - seen.mean(0)) / np.sqrt(seen.var(0) + 1e-3), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(out, other(x, mask=mask, training=True), rtol=1e-3, atol=1e-3)


@pytest.mark.broad
def test_a_batch_that_is_masked_throughout_moves_nothing():
    layer = layers.BatchNormalization()
    layer(X[0])
    before = moving(layer)
    out = layer(X[0], mask=np.zeros((5, 4), bool), training=True)
    assert np.isfinite(out).all()
    assert moving(layer) == before


def test_short_dtypes_are_summed_in_float32():
    layer = layers.BatchNormalization(dtype="mixed_float16", momentum=0.0)
    x = np.full((4096, 1), 1000, "float16")  # the sum overflows in float16
    x[::2] += 8
    out = layer(x, training=True)
    np.testing.assert_allclose(moving(layer), [[1004], [16]], rtol=1e-5)
    assert str(out.dtype) == "float16"
    np.testing.assert_allclose(np.unique(np.float32(out)), [-1, 1], atol=1e-3)


def test_other_channels_are_refused():
    layer = layers.BatchNormalization(name="norm")
    layer(np.ones((2, 3), "float32"))
    with pytest.raises(gx.errors.ShapeError, match=r"4 channels(.|\n)*'norm'(.|\n)*made for 3"):
        layer(np.ones((2, 4), "float32"))
    with pytest.raises(gx.errors.ShapeError, match="axis = 4"):
        layers.BatchNormalization(axis=4)(X)


def test_settings_are_checked():
    for options in ({"momentum": 1.5}, {"epsilon": -1e-3}, {"momentum": None}):
        with pytest.raises(gx.errors.ArgumentError, match=next(iter(options))):
            layers.BatchNormalization(**options)
