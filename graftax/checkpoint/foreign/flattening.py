"""Flatten → Dense: torch flattens channels first, graftax channels last, so the rows of the kernel are reordered."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from graftax.checkpoint.arrays import HostArray
from graftax.checkpoint.foreign.layer_rules import rule_of
from graftax.checkpoint.foreign.unit import Choice
from graftax.core.typedefs import Shape
from graftax.variables.graph.module import Module

_KINDS = {
    "reshape.Flatten": "flatten",
    "dense.Dense": "dense",
    "batch_normalization.BatchNormalization": "features",
    "conv.Conv": "channels",
    "depthwise_conv.DepthwiseConv": "channels",
    "conv_transpose.ConvTranspose": "channels",
    "pooling.Pooling": "channels",
    "adaptive_pooling.AdaptivePooling": "channels",
    "recurrent.Recurrent": "steps",
    "embedding.Embedding": "steps",
    "multi_head_attention.MultiHeadAttention": "steps",
}


def shapes_before_flatten(modules: list[Module]) -> dict[int, Shape]:
    """Return, by the id of a layer, the shape that a Flatten before it turns into its input features.

    Layers are visited in the order of their definition: all layers after a Flatten, up to the first Dense, see its
    features.

    Args:
        modules: The modules of a program, in the order of their definition.
    """
    found: dict[int, Shape] = {}
    shape: Shape | None = None
    has_channels = False
    for module in modules:
        kind = rule_of(module, _KINDS)
        if kind == "flatten":
            given: Any = getattr(module, "input_shape", None)
            sizes: Any = tuple(given[1:]) if given is not None else ()
            is_image = len(sizes) > 2 or (len(sizes) == 2 and has_channels)
            shape = sizes if is_image and prod(sizes[:-1]) > 1 and sizes[-1] > 1 else None
        elif kind in ("dense", "features") and shape is not None:
            if _features(module, kind) == prod(shape):
                found[id(module)] = shape
            if kind == "dense":
                shape = None
        elif kind in ("channels", "steps"):
            has_channels = kind == "channels"
    return found


def _features(module: Any, kind: str) -> int:
    return int(module.kernel.shape[0] if kind == "dense" else module.moving_mean.shape[0])


def reorder_first_axis(choice: Choice, shape: Shape) -> Choice:
    """Return a choice that reorders the first axis from ``(channels, *space)`` to ``(*space, channels)``.

    Args:
        choice: How the Variable is made of arrays of the file.
        shape: The shape before Flatten, without the batch: ``(*space, channels)``.
    """
    numbers = np.arange(prod(shape)).reshape(shape[-1], *shape[:-1])
    order = np.moveaxis(numbers, 0, -1).reshape(-1)

    def convert(*arrays: HostArray) -> HostArray:
        return choice.convert(*arrays)[order]

    return Choice(choice.names, convert, f"features as Flatten has them from {shape}, channels last")
