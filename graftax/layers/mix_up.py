"""MixUp and CutMix: images of a batch mixed with one another, and their labels with them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from graftax import ops
from graftax.core.errors import ArgumentError, ArgumentTypeError, ShapeError
from graftax.core.typedefs import Array
from graftax.core.undefined import undefined_error
from graftax.layers.arguments import check_range, single_shape, widen
from graftax.layers.policy import DTypePolicy
from graftax.layers.random_erasing import rectangle
from graftax.layers.random_image import RandomImage
from graftax.variables import random


class Mixing(RandomImage):
    """The base of `MixUp` and `CutMix`, which describe the arguments."""

    def build(self, input_shape: Any) -> None:
        self.seed_generator.build()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse labels beside the images, where ``training`` is; then see `Layer`."""
        if len(args) > 1 and hasattr(args[1], "shape"):
            raise _labels_error(f"{_describe(args[0])} and {_describe(args[1])}, one after the other")
        return super().__call__(*args, **kwargs)

    def call(self, inputs: Mapping[str, Array], training: bool | None = None) -> dict[str, Array]:  # type: ignore[override]
        if not isinstance(inputs, Mapping) or set(inputs) != {"images", "labels"}:
            raise _labels_error(f"a dict of {sorted(inputs)}" if isinstance(inputs, Mapping) else _describe(inputs))
        shape = single_shape(inputs["images"].shape, 4, 4)
        labels = widen(ops.asarray(inputs["labels"]))
        if labels.ndim != 2 or labels.shape[0] != shape[0]:
            raise ShapeError(
                f"labels of shape {tuple(labels.shape)} for {shape[0]} images",
                "mixed labels are shares of the classes: (batch, classes)",
                "ops.one_hot(labels, num_classes)",
            )
        images = widen(ops.asarray(inputs["images"]))
        if training:
            images, labels = self.mix(images, labels)
        dtype = self.compute_dtype
        return {"images": ops.cast(images, dtype), "labels": ops.cast(labels, dtype)}

    def mix(self, images: Array, labels: Array) -> tuple[Array, Array]:
        """Return images and labels mixed; subclasses must define it."""
        raise undefined_error(self, "mix(images, labels)")

    def partners(self, images: Array) -> Array:
        """Return for each image which one it is mixed with."""
        return random.shuffle(ops.arange(images.shape[0]), seed=self.seed_generator)

    def share(self, images: Array, strength: float) -> Array:
        """Draw how much of each image stays, from the symmetric beta distribution of a parameter above 0."""
        dtype = str(images.dtype)
        chances, places, power = _half_of_beta(float(strength))
        drawn = random.uniform((images.shape[0],), seed=self.seed_generator)
        upper = ops.clip(ops.searchsorted(ops.asarray(chances), drawn), 1, len(chances) - 1)
        (low, high), (start, end) = (
            tuple(ops.take(ops.asarray(table), at, axis=0) for at in (upper - 1, upper)) for table in (chances, places)
        )
        part = ops.power(start + (end - start) * (drawn - low) / ops.maximum(high - low, 1e-12), power)
        other = random.bernoulli(part.shape, 0.5, seed=self.seed_generator)
        return ops.cast(ops.where(other, 1 - part, part), dtype)


@cache
def _half_of_beta(strength: float) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], float]:
    """Return chances of the beta distribution of twice ``strength``, and where they are reached: the lower half.

    Places are those of ``x ** min(strength, 1)``, in which the density has no pole at 0; the power leads back to ``x``.
    """
    root = min(strength, 1.0)
    places = np.linspace(0, 0.5**root, 2049)
    x = places ** (1 / root)
    # times a constant: a power of x * (1 - x), at most a quarter, would become 0 everywhere
    density = (4 * x * (1 - x)) ** (strength - 1) if strength > 1 else (1 - x) ** (strength - 1)
    total = np.concatenate([[0], np.cumsum(density[1:] + density[:-1])])
    return (total / total[-1]).astype("float32"), places.astype("float32"), 1 / root


def _check_strength(name: str, value: float) -> float:
    found = check_range(name, value, 0, float("inf"))
    if found == 0:
        raise ArgumentError(f"{name}=0", "nothing would be mixed", f"{name}=0.2, or no such layer")
    return found


def _labels_error(received: str) -> ArgumentTypeError:
    return ArgumentTypeError(
        received,
        "images are mixed together with their labels",
        'layer({"images": x, "labels": y}, training=True), where y has a share for each class, as '
        "ops.one_hot(y, num_classes) gives it",
    )


def _describe(value: object) -> str:
    shape = getattr(value, "shape", None)
    return f"a {type(value).__name__}" if shape is None else f"an array of shape {tuple(shape)}"


class MixUp(Mixing):
    r"""Mixes each image of a batch with another one while training, and their labels alike.

    .. math:: \lambda x_i + (1 - \lambda) x_j \qquad \lambda \sim \mathrm{Beta}(\alpha, \alpha)

    Args:
        alpha: The parameter of the distribution, above 0: small ones mix little. Defaults to 0.2.
        seed: Fixes the draws, as for `Dropout`. Defaults to None: a stream of the layer's own.
        name: As for `Layer`.
        dtype: As for `Layer`.

    A call takes ``{"images": ..., "labels": ...}`` with labels as shares of the classes, and gives the same.

    Shape:
        ``(batch, height, width, channels), (batch, classes)`` to the same

    Raises:
        ArgumentError: ``alpha`` is not above 0.
        ArgumentTypeError: the input is no dict of images and labels.
        ShapeError: images or labels have other axes.

    Example:
        >>> import numpy as np, graftax as gx
        >>> data = {"images": np.ones((4, 8, 8, 3), "float32"), "labels": gx.ops.one_hot(np.array([0, 1, 2, 1]), 3)}
        >>> mixed = MixUp(seed=0)(data, training=True)
        >>> mixed["images"].shape, mixed["labels"].sum(-1).round(4).tolist()
        ((4, 8, 8, 3), [1.0, 1.0, 1.0, 1.0])

    Source: Zhang et al., arXiv 1710.09412.
    """

    def __init__(
        self,
        alpha: float = 0.2,
        seed: int | None = None,
        name: str | None = None,
        dtype: str | DTypePolicy | None = None,
    ) -> None:
        super().__init__(seed, name, dtype)
        self.alpha = _check_strength("alpha", alpha)

    def mix(self, images: Array, labels: Array) -> tuple[Array, Array]:
        other, share = self.partners(images), self.share(images, self.alpha)
        for_image, for_label = ops.reshape(share, (-1, 1, 1, 1)), ops.cast(share, labels.dtype)[:, None]
        return (
            for_image * images + (1 - for_image) * ops.take(images, other, axis=0),
            for_label * labels + (1 - for_label) * ops.take(labels, other, axis=0),
        )


class CutMix(Mixing):
    """Puts a rectangle of another image into each image of a batch while training, and mixes labels by its area.

    Args:
        factor: The parameter of the beta distribution of the area that stays, above 0. Defaults to 1.
        seed: Fixes the draws, as for `Dropout`. Defaults to None: a stream of the layer's own.
        name: As for `Layer`.
        dtype: As for `Layer`.

    A call takes ``{"images": ..., "labels": ...}`` with labels as shares of the classes, and gives the same.

    Shape:
        ``(batch, height, width, channels), (batch, classes)`` to the same

    Raises:
        ArgumentError: ``factor`` is not above 0.
        ArgumentTypeError: the input is no dict of images and labels.
        ShapeError: images or labels have other axes.

    Example:
        >>> import numpy as np, graftax as gx
        >>> data = {"images": np.ones((4, 8, 8, 3), "float32"), "labels": gx.ops.one_hot(np.array([0, 1, 2, 1]), 3)}
        >>> CutMix(seed=0)(data, training=True)["labels"].sum(-1).round(4).tolist()
        [1.0, 1.0, 1.0, 1.0]

    Source: Yun et al., arXiv 1905.04899.
    """

    def __init__(
        self,
        factor: float = 1.0,
        seed: int | None = None,
        name: str | None = None,
        dtype: str | DTypePolicy | None = None,
    ) -> None:
        super().__init__(seed, name, dtype)
        self.factor = _check_strength("factor", factor)

    def mix(self, images: Array, labels: Array) -> tuple[Array, Array]:
        other = self.partners(images)
        side = ops.sqrt(1 - self.share(images, self.factor))
        inside = rectangle(self, images, side, side)
        area = ops.cast(ops.mean(ops.cast(inside, labels.dtype), axis=(1, 2, 3)), labels.dtype)[:, None]
        return (
            ops.where(inside, ops.take(images, other, axis=0), images),
            (1 - area) * labels + area * ops.take(labels, other, axis=0),
        )
