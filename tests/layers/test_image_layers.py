"""Layers that change images, at random and not."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops

RNG = np.random.default_rng(0)
X = RNG.uniform(0, 255, (64, 6, 8, 3)).astype("float32")
BYTES = RNG.integers(0, 256, (2, 6, 8, 3)).astype("uint8")
RANDOM = {
    "flip": lambda **o: layers.RandomFlip(**o),
    "crop": lambda **o: layers.RandomCrop(4, 5, **o),
    "translation": lambda **o: layers.RandomTranslation(0.3, 0.2, **o),
    "rotation": lambda **o: layers.RandomRotation(0.2, **o),
    "zoom": lambda **o: layers.RandomZoom(0.3, **o),
    "contrast": lambda **o: layers.RandomContrast(0.4, **o),
    "brightness": lambda **o: layers.RandomBrightness(0.4, **o),
    "erasing": lambda **o: layers.RandomErasing(**o),
}


@pytest.mark.broad
@pytest.mark.in_turn(3)
@pytest.mark.parametrize("kind", RANDOM)
def test_each_image_is_changed_for_itself_in_training_only(kind):
    layer = RANDOM[kind](seed=1)
    calm = np.asarray(layer(X))
    np.testing.assert_array_equal(calm, X[:, 1:5, 1:6] if kind == "crop" else X)
    out = np.asarray(layer(X, training=True))
    assert out.shape == calm.shape
    same = [np.allclose(a, b, atol=1e-3) for a, b in zip(out, calm, strict=True)]
    assert sum(same) < 32
    np.testing.assert_array_equal(RANDOM[kind](seed=1)(X, training=True), RANDOM[kind](seed=1)(X, training=True))
    repeated = np.asarray(RANDOM[kind]()(np.repeat(X[:1], len(X), 0), training=True))
    assert len({one.tobytes() for one in repeated}) > 3
    alone = layer(BYTES[0], training=True)
    assert alone.shape == out.shape[1:]
    assert str(alone.dtype) == "float32"


@pytest.mark.broad
def test_flips_and_crops_take_pixels_as_they_are():
    flipped = np.asarray(layers.RandomFlip("horizontal")(X, training=True))
    assert all(np.array_equal(a, b) or np.array_equal(a, b[:, ::-1]) for a, b in zip(flipped, X, strict=True))
    both = np.asarray(layers.RandomFlip()(X, training=True))
    found = {
        (i, j) for a, b in zip(both, X, strict=True) for i in (1, -1) for j in (1, -1) if np.array_equal(a, b[::i, ::j])
    }
    assert len(found) == 4
    cropped = np.asarray(layers.RandomCrop(4, 5)(X, training=True))
    places = {
        (i, j)
        for a, b in zip(cropped, X, strict=True)
        for i in range(3)
        for j in range(4)
        if np.array_equal(a, b[i : i + 4, j : j + 5])
    }
    assert len(places) == 12


def test_crops_of_images_that_are_too_small_lie_at_random_places():
    x = np.broadcast_to(np.arange(8, dtype="float32")[None, None, :, None], (64, 6, 8, 3))
    layer = layers.RandomCrop(12, 12)  # the largest part in these proportions is 6 x 6
    out = np.asarray(layer(x, training=True))
    assert out.shape == (64, 12, 12, 3)
    assert set(out[:, 0, 0, 0].tolist()) == {0.0, 1.0, 2.0}
    np.testing.assert_allclose(out[:, 0, -1, 0] - out[:, 0, 0, 0], 5)  # nothing is distorted
    assert set(np.asarray(layer(x))[:, 0, 0, 0].tolist()) == {1.0}


@pytest.mark.broad
def test_moves_turns_and_zooms_of_a_known_size():
    x = X[:1]
    down = layers.RandomTranslation((1 / 3, 1 / 3), (0.25, 0.25), "constant", fill_value=7.0)(x, training=True)
    expected = np.full_like(x, 7)
    expected[:, 2:, 2:] = x[:, :-2, :-2]
    np.testing.assert_allclose(down, expected, rtol=1e-4, atol=1e-3)
    square = x[:, :, :6]
    np.testing.assert_allclose(
        layers.RandomRotation((0.25, 0.25))(square, training=True), np.rot90(square, 1, (1, 2)), rtol=1e-3, atol=2e-2
    )
    half = layers.RandomRotation((0.5, 0.5), interpolation="nearest")(x, training=True)
    np.testing.assert_allclose(half, x[:, ::-1, ::-1], rtol=1e-4, atol=1e-3)
    line = np.arange(9, dtype="float32").reshape(1, 1, 9, 1)
    zoomed = layers.RandomZoom(0.0, (0.5, 0.5), "constant", fill_value=-1.0)(line, training=True)
    np.testing.assert_allclose(np.asarray(zoomed)[0, 0, 2:7, 0], [1, 2.5, 4, 5.5, 7], rtol=1e-5)


@pytest.mark.broad
def test_contrast_brightness_and_erasing_in_numbers():
    contrast = np.asarray(layers.RandomContrast(0.5, (-1e6, 1e6))(X, training=True))
    mean = X.mean((1, 2), keepdims=True)
    factor = (contrast - mean) / (X - mean)
    np.testing.assert_allclose(factor, np.broadcast_to(factor[:, :1, :1, :1], factor.shape), rtol=0.1, atol=0.05)
    assert 0.5 <= np.median(factor, (1, 2, 3)).min() < 0.7 < 1.3 < np.median(factor, (1, 2, 3)).max() <= 1.5
    added = np.asarray(layers.RandomBrightness(0.2, (0, 1000))(X, training=True)) - X
    assert added.min() >= -200.01
    assert added.max() <= 200.01
    limited = np.asarray(layers.RandomBrightness(0.9)(X, training=True))
    assert limited.min() >= 0
    assert limited.max() <= 255
    erased = np.asarray(layers.RandomErasing(0.5, (0.5, 0.5), fill_value=-1.0)(X, training=True)) == -1
    assert set(erased[..., 0].sum((1, 2)).tolist()) == {0, 12}
    assert 0.25 < (erased.any((1, 2, 3))).mean() < 0.75


@pytest.mark.broad
def test_sizes():
    assert layers.Resizing(3, 4)(BYTES).shape == (2, 3, 4, 3)
    assert layers.Resizing(3, 4)(BYTES[0]).shape == (3, 4, 3)
    np.testing.assert_array_equal(layers.Resizing(6, 8)(BYTES), BYTES)
    squared = layers.Resizing(12, 12, crop_to_aspect_ratio=True)(X)
    np.testing.assert_allclose(squared, layers.Resizing(12, 12)(X[:, :, 1:7]), rtol=1e-5)
    np.testing.assert_array_equal(layers.CenterCrop(2, 4)(X), X[:, 2:4, 2:6])
    assert layers.CenterCrop(12, 3)(X).shape == (64, 12, 3, 3)
    assert layers.CenterCrop(2, 4).compute_output_shape((None, 6, 8, 3)) == (None, 2, 4, 3)
    np.testing.assert_allclose(layers.Rescaling(1 / 255, 0.5)(BYTES), BYTES / 255 + 0.5, rtol=1e-5)
    assert str(layers.Rescaling(0.5, dtype="bfloat16")(BYTES).dtype) == "bfloat16"


@pytest.mark.parametrize("interpolation", ["bilinear", "nearest", "bicubic", "lanczos3", "lanczos5"])
def test_sizes_are_those_of_keras(keras, interpolation):
    for size in ((3, 5), (9, 12)):
        ours, theirs = (one.Resizing(*size, interpolation=interpolation) for one in (layers, keras.layers))
        np.testing.assert_allclose(ours(X[:2]), theirs(X[:2]), rtol=1e-3, atol=0.2)
    for ours, theirs in (
        (layers.CenterCrop(4, 5), keras.layers.CenterCrop(4, 5)),
        (layers.Rescaling(0.5, 2.0), keras.layers.Rescaling(0.5, 2.0)),
    ):
        np.testing.assert_allclose(ours(X), theirs(X), rtol=1e-5)


@pytest.mark.parametrize("name", ["RandomTranslation", "RandomRotation", "RandomZoom", "RandomBrightness"])
def test_changes_of_a_known_size_are_those_of_keras(keras, name):
    bounds = (0.15, 0.15)
    given = (bounds, bounds) if name == "RandomTranslation" else (bounds,)
    more = {} if name == "RandomBrightness" else {"fill_mode": "constant"}
    ours, theirs = (getattr(one, name)(*given, **more) for one in (layers, keras.layers))
    np.testing.assert_allclose(ours(X, training=True), theirs(X, training=True), rtol=1e-3, atol=0.05)


LABELS = ops.one_hot(np.arange(64) % 4, 4)


@pytest.mark.broad
@pytest.mark.parametrize("kind", [layers.MixUp, layers.CutMix])
def test_mixtures_of_images_carry_those_of_labels(kind):
    data = {"images": X, "labels": LABELS}
    calm = kind()(data)
    np.testing.assert_array_equal(calm["images"], X)
    ids = np.broadcast_to(np.eye(64, dtype="float32")[:, None, None], (64, 6, 8, 64))
    layer = kind(1.0, seed=2)
    mixed = gx.jit(lambda d: layer(d, training=True))({"images": ids, "labels": np.eye(64, dtype="float32")})
    shares = np.asarray(mixed["images"]).mean((1, 2))
    np.testing.assert_allclose(shares, mixed["labels"], rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(shares.sum(-1), 1, rtol=1e-4)
    assert (shares > 1e-3).sum(-1).max() == 2


@pytest.mark.broad
@pytest.mark.parametrize("alpha", [0.2, 1.0, 4.0])
def test_shares_have_the_moments_of_the_beta_distribution(alpha):
    layer = layers.MixUp(alpha, seed=0)
    layer.build_for({"images": X, "labels": LABELS})
    share = np.concatenate(
        [np.asarray(layer.share(np.zeros((4096, 1, 1, 1), "float32"), layer.alpha)) for _ in range(4)]
    )
    assert share.mean() == pytest.approx(0.5, abs=0.015)
    assert share.var() == pytest.approx(1 / (4 * (2 * alpha + 1)), rel=0.04)
    fourth = 3 / ((2 * alpha + 1) * (2 * alpha + 3)) / 16
    assert ((share - 0.5) ** 4).mean() == pytest.approx(fourth, rel=0.08)


def test_bad_input_is_refused():
    for make, message in (
        (lambda: layers.RandomFlip("diagonal"), "mode="),
        (lambda: layers.RandomCrop(0, 3), "height=0"),
        (lambda: layers.RandomTranslation(2.0, (-2, 1)), "width_factor="),
        (lambda: layers.RandomTranslation(0.1, 0.1, fill_mode="mirror"), "fill_mode="),
        (lambda: layers.RandomZoom((-1.0, 0.0)), "height_factor="),
        (lambda: layers.RandomZoom(1.5), "height_factor=1.5(.|\n)*above -1"),
        (lambda: layers.RandomContrast((0.1, 0.2, 0.3)), r"factor=\(0.1, 0.2, 0.3\)"),
        (lambda: layers.RandomContrast(()), r"factor=\(\)"),
        (lambda: layers.RandomRotation("a"), "factor="),
        (lambda: layers.RandomContrast(2.0), "factor="),
        (lambda: layers.RandomContrast(0.2, (3, 1)), "value_range="),
        (lambda: layers.RandomBrightness((0.3, 0.1)), "factor="),
        (lambda: layers.RandomErasing(2.0), "factor="),
        (lambda: layers.MixUp(0), "alpha=0"),
        (lambda: layers.CutMix(-1), "factor=-1"),
        (lambda: layers.Rescaling("a"), "scale="),
        (lambda: layers.Rescaling(1.0, np.nan), "offset="),
        (lambda: layers.Resizing(3, 4, "cubic"), "interpolation="),
        (lambda: layers.Resizing(3, 4, "nearest", antialias=True), "none averaged"),
    ):
        with pytest.raises(gx.errors.ArgumentError, match=message):
            make()
    with pytest.raises(gx.errors.ShapeError, match="3 to 4 axes"):
        layers.RandomFlip()(X[0, 0])
    with pytest.raises(gx.errors.ArgumentTypeError, match="together with their labels"):
        layers.MixUp()({"images": X})
    with pytest.raises(gx.errors.ShapeError, match="shares of the classes"):
        layers.MixUp()({"images": X, "labels": np.arange(64)})


@pytest.mark.broad
@pytest.mark.parametrize("strength", [3.0, 600.0, 1e5])
def test_strong_mixing_halves(strength):
    """The spread of the symmetric beta distribution: 1 / (2 * sqrt(2 * strength + 1))."""
    share = np.asarray(layers.MixUp(seed=1).share(np.zeros((4000, 1, 1, 1), "float32"), strength))
    assert abs(share.mean() - 0.5) < 0.02
    np.testing.assert_allclose(share.std(), 0.5 / np.sqrt(2 * strength + 1), rtol=0.1)
