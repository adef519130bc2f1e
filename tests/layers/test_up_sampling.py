import numpy as np
import pytest

import graftax as gx
from graftax import layers

X = np.random.default_rng(0).normal(size=(2, 3, 4, 12)).astype("float32")


def test_values_are_repeated():
    np.testing.assert_array_equal(layers.UpSampling2D((2, 3))(X), X.repeat(2, 1).repeat(3, 2))
    np.testing.assert_array_equal(layers.UpSampling1D(3)(X[:, 0]), X[:, 0].repeat(3, 1))
    volume = X.reshape(2, 3, 4, 4, 3)
    np.testing.assert_array_equal(layers.UpSampling3D((1, 2, 3))(volume), volume.repeat(2, 2).repeat(3, 3))


def test_pixel_shuffle_is_that_of_torch(torch):
    theirs = torch.nn.PixelShuffle(2)(torch.tensor(X).permute(0, 3, 1, 2)).permute(0, 2, 3, 1)
    np.testing.assert_array_equal(layers.PixelShuffle(2)(X), theirs)


@pytest.mark.parametrize("interpolation", ["nearest", "bilinear", "bicubic"])
def test_larger_images_are_those_of_keras(keras, interpolation):
    ours, theirs = (one.UpSampling2D((2, 3), interpolation=interpolation) for one in (layers, keras.layers))
    np.testing.assert_allclose(ours(X), theirs(X), rtol=1e-4, atol=1e-5)


def test_values_between_pixels():
    line = np.float32([0, 4]).reshape(1, 1, 2, 1)
    out = layers.UpSampling2D((1, 2), interpolation="bilinear")(line)
    assert np.ravel(out).tolist() == [0, 1, 3, 4]
    with pytest.raises(gx.errors.ArgumentError, match="interpolation="):
        layers.UpSampling2D(2, interpolation="cubic")


def test_squares_of_channels():
    out = np.asarray(layers.PixelShuffle(2)(X))
    for i, j in np.ndindex(2, 2):
        np.testing.assert_array_equal(out[:, i::2, j::2], X[..., 2 * i + j :: 4])
    assert layers.PixelShuffle(2).compute_output_shape((None, 3, 4, 12)) == (None, 6, 8, 3)


def test_bad_input_is_refused():
    with pytest.raises(gx.errors.ArgumentError, match="size="):
        layers.UpSampling2D(0)
    with pytest.raises(gx.errors.ArgumentError, match="upscale_factor="):
        layers.PixelShuffle(0)
    with pytest.raises(gx.errors.ShapeError, match=r"12 channels, upscale_factor=5"):
        layers.PixelShuffle(5)(X)
    with pytest.raises(gx.errors.ShapeError, match="needs 3 axes"):
        layers.UpSampling1D()(X)
