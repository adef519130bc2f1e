"""Aligned sequences, normalisations and images against other libraries, and what does not fit."""

from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.core.errors import ArgumentError, DTypeError, IndexRangeError, MissingAttributeError, ShapeError

RNG = np.random.default_rng(3)
LOGITS = RNG.normal(size=(3, 12, 5)).astype("float32")
LABELS = np.array([[1, 2, 2, 4], [3, 3, 1, 0], [2, 0, 0, 0]], "int32")
LENGTHS = np.array([4, 3, 1], "int32"), np.array([12, 9, 5], "int32")
IMAGES = RNG.uniform(size=(2, 7, 9, 3)).astype("float32")


def test_ctc_and_its_gradient_are_those_of_torch() -> None:
    torch = pytest.importorskip("torch")
    logits = torch.tensor(LOGITS, requires_grad=True)
    logs = torch.log_softmax(logits, -1).transpose(0, 1)
    theirs = torch.nn.functional.ctc_loss(
        logs, torch.tensor(LABELS), torch.tensor(LENGTHS[1]), torch.tensor(LENGTHS[0]), reduction="none"
    )
    theirs.sum().backward()
    value, slope = gx.value_and_gradients_function(lambda x: ops.sum(ops.ctc_loss(LABELS, x, *LENGTHS)))(
        ops.asarray(LOGITS)
    )
    np.testing.assert_allclose(value, theirs.sum().item(), rtol=1e-5)
    np.testing.assert_allclose(slope[0], logits.grad.numpy(), atol=1e-5)


@pytest.mark.broad
def test_what_stands_beyond_the_lengths_does_not_count() -> None:
    dirty, labels = LOGITS.copy(), LABELS.copy()
    dirty[1, 9:], dirty[2, 5:], labels[2, 1:] = np.nan, np.inf, -7
    found = gx.grad(lambda x: ops.sum(ops.ctc_loss(labels, x, *LENGTHS)))(ops.asarray(dirty))
    assert np.isfinite(found).all()
    np.testing.assert_allclose(ops.ctc_loss(labels, dirty, *LENGTHS), ops.ctc_loss(LABELS, LOGITS, *LENGTHS), rtol=1e-6)


@pytest.mark.broad
def test_labels_that_fit_into_no_steps_cost_infinitely_much() -> None:
    assert ops.ctc_loss([[1, 1]], LOGITS[:1, :2]).tolist() == [np.inf]


def test_sequences_that_do_not_fit_are_told() -> None:
    with pytest.raises(IndexRangeError):
        ops.ctc_loss([[5]], LOGITS[:1])
    with pytest.raises(IndexRangeError):
        ops.ctc_loss([[1]], LOGITS[:1], [2])
    with pytest.raises(ShapeError):
        ops.ctc_loss([1], LOGITS[:1])
    with pytest.raises(DTypeError):
        ops.ctc_loss([[1.0]], LOGITS[:1])
    with pytest.raises(ArgumentError):
        ops.ctc_loss([[1]], LOGITS[:1], blank=5)


@pytest.mark.parametrize(("interpolation", "antialias"), [("bilinear", False), ("bilinear", True), ("nearest", False)])
@pytest.mark.parametrize("size", [(4, 5), (10, 20)])
def test_resizing_is_that_of_torch(interpolation: str, antialias: bool, size: tuple[int, int]) -> None:
    torch = pytest.importorskip("torch")
    mode = {"nearest": "nearest-exact"}.get(interpolation, interpolation)
    theirs = torch.nn.functional.interpolate(
        torch.tensor(IMAGES.transpose(0, 3, 1, 2)), size, mode=mode, antialias=antialias
    )
    found = ops.image.resize(IMAGES, size, interpolation, antialias=antialias)
    np.testing.assert_allclose(found, theirs.numpy().transpose(0, 2, 3, 1), atol=1e-5)


@pytest.mark.in_turn(5)
@pytest.mark.parametrize("interpolation", ["bilinear", "bicubic", "lanczos3", "lanczos5", "nearest"])
@pytest.mark.parametrize("antialias", [True, False])
def test_resizing_is_that_of_jax(interpolation: str, antialias: bool) -> None:
    import jax

    if interpolation == "nearest" and antialias:
        return
    theirs = jax.image.resize(IMAGES, (2, 4, 12, 3), interpolation, antialias=antialias)
    found = ops.image.resize(IMAGES, (4, 12), interpolation, antialias=antialias)
    np.testing.assert_allclose(found, theirs, atol=1e-5)


def test_images_are_turned_as_keras_turns_them(keras: Any) -> None:
    turn = np.array([0.9, 0.2, 0.3, -0.3, 1.1, 0.42, 0.0, 0.0], "float32")
    for how in ("bilinear", "nearest"):
        theirs = keras.ops.image.affine_transform(IMAGES, np.stack([turn, turn]), interpolation=how)
        np.testing.assert_allclose(ops.image.affine_transform(IMAGES, turn, how), theirs, atol=1e-5)


def test_normalisations_are_those_of_torch() -> None:
    torch = pytest.importorskip("torch")
    x, gamma, beta = IMAGES[0], IMAGES[0, 0, 0], IMAGES[1, 0, 0]
    theirs = torch.nn.functional.layer_norm(*map(torch.tensor, (x,)), (3,), *map(torch.tensor, (gamma, beta)), 1e-3)
    np.testing.assert_allclose(ops.layer_normalization(x, gamma, beta), theirs.numpy(), atol=1e-5)
    theirs = torch.nn.functional.normalize(torch.tensor(x), dim=1)
    np.testing.assert_allclose(ops.normalize(x, axis=1), theirs.numpy(), atol=1e-6)
    channels = torch.tensor(IMAGES.transpose(0, 3, 1, 2))
    for name, size in (("adaptive_avg_pool2d", (3, 4)), ("adaptive_max_pool2d", (2, 9))):
        ours = ops.adaptive_average_pool if "avg" in name else ops.adaptive_max_pool
        theirs = getattr(torch.nn.functional, name)(channels, size)
        np.testing.assert_allclose(ours(IMAGES, size), theirs.numpy().transpose(0, 2, 3, 1), atol=1e-6)


def test_images_that_do_not_fit_are_told() -> None:
    with pytest.raises(ShapeError):
        ops.image.resize(IMAGES[0, 0], (2, 2))
    with pytest.raises(ArgumentError):
        ops.image.resize(IMAGES, (2, 2, 2))
    with pytest.raises(ArgumentError):
        ops.image.resize(IMAGES, 2, "nearest", antialias=True)
    with pytest.raises(ShapeError, match="outside"):
        ops.image.crop(IMAGES, 5, 0, 3, 3)
    with pytest.raises(ShapeError):
        ops.image.affine_transform(IMAGES, np.ones(6, "float32"))
    with pytest.raises(ArgumentError):
        ops.image.gaussian_blur(IMAGES, 4)
    with pytest.raises(ShapeError):
        ops.image.ssim(IMAGES, IMAGES, 1.0)
    with pytest.raises(ShapeError):
        ops.space_to_depth(IMAGES, 2)
    with pytest.raises(ShapeError):
        ops.layer_normalization(IMAGES, np.ones(2, "float32"))


def test_the_namespace_of_images_shows_and_answers() -> None:
    assert "resize" in dir(ops.image)
    assert "image" in dir(ops)
    with pytest.raises(MissingAttributeError) as caught:
        ops.image.resise  # noqa: B018
    assert "ops.image.resize" in caught.value.instead
    with pytest.raises(MissingAttributeError) as caught:
        ops.image.crop_images  # noqa: B018
    assert caught.value.instead == "ops.image.crop"
