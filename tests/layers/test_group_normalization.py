import numpy as np
import pytest

import graftax as gx
from graftax import layers

X = np.random.default_rng(0).normal(1, 2, (2, 4, 5, 6)).astype("float32")


def by_hand(x, groups, epsilon=1e-3):
    parts = np.split(x.astype("float64"), groups, axis=-1)
    axes = tuple(range(1, x.ndim))
    normal = [(p - p.mean(axes, keepdims=True)) / np.sqrt(p.var(axes, keepdims=True) + epsilon) for p in parts]
    return np.concatenate(normal, -1)


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("groups", [1, 2, 3, 6, -1])
def test_each_group_is_normalized_alone(groups):
    expected = by_hand(X, 6 if groups == -1 else groups)
    np.testing.assert_allclose(layers.GroupNormalization(groups)(X), expected, rtol=1e-4, atol=1e-5)
    moved = layers.GroupNormalization(groups, axis=1)(np.moveaxis(X, -1, 1))
    np.testing.assert_allclose(np.moveaxis(np.asarray(moved), 1, -1), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.broad
def test_an_instance_is_a_group_of_one_channel():
    np.testing.assert_array_equal(layers.InstanceNormalization()(X), layers.GroupNormalization(6)(X))
    assert layers.InstanceNormalization()(X[:, :, 0]).shape == (2, 4, 6)


def test_what_a_mask_hides_does_not_count():
    x, shown = X[:, :, 0], np.array([[True, True, False, True], [False, True, True, False]])
    out = layers.GroupNormalization(2)(np.where(shown[..., None], x, np.nan), mask=shown)
    for row, mask, given in zip(np.asarray(out), shown, x, strict=True):
        np.testing.assert_allclose(row[mask], by_hand(given[mask][None], 2)[0], rtol=1e-4, atol=1e-5)


def test_values_and_gradients_are_those_of_torch(torch):
    weight, bias = np.linspace(0.5, 1.5, 6).astype("float32"), np.linspace(-1, 1, 6).astype("float32")
    image = np.ascontiguousarray(np.moveaxis(X, -1, 1))
    for ours, theirs in (
        (layers.GroupNormalization(3, epsilon=1e-5), torch.nn.GroupNorm(3, 6)),
        (layers.InstanceNormalization(epsilon=1e-5), torch.nn.InstanceNorm2d(6, affine=True)),
    ):
        ours.build_for(X)
        ours.set_weights([weight, bias])
        theirs.weight.data, theirs.bias.data = torch.tensor(weight), torch.tensor(bias)
        given = torch.tensor(image, requires_grad=True)
        out = theirs(given)
        (out**2 * out.detach().cos()).sum().backward()
        np.testing.assert_allclose(ours(X), out.detach().permute(0, 2, 3, 1), rtol=1e-4, atol=1e-5)
        mix = np.cos(out.detach().permute(0, 2, 3, 1).numpy())
        slope = gx.grad(lambda x, layer=ours, mix=mix: gx.ops.sum(layer(x) ** 2 * mix))(gx.ops.asarray(X))
        np.testing.assert_allclose(slope, given.grad.permute(0, 2, 3, 1), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("groups", [2, -1])
def test_values_are_those_of_keras(keras, groups):
    theirs = keras.layers.GroupNormalization(groups)(X)
    np.testing.assert_allclose(layers.GroupNormalization(groups)(X), theirs, rtol=1e-4, atol=1e-5)


def test_bad_input_is_refused():
    for groups in (0, -2, 2.5, True):
        with pytest.raises(gx.errors.ArgumentError, match="groups="):
            layers.GroupNormalization(groups)
    with pytest.raises(gx.errors.ShapeError, match=r"6 channels, groups=4(.|\n)*groups=3"):
        layers.GroupNormalization(4)(X)
    with pytest.raises(gx.errors.ShapeError, match="axis 0 is the batch"):
        layers.GroupNormalization(2, axis=0)(X)
    layer = layers.GroupNormalization(2)
    layer(X)
    with pytest.raises(gx.errors.ShapeError, match="was made for 6"):
        layer(X[..., :4])
