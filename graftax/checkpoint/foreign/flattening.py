"""Flatten → Dense: torch flattens channels first, here they come last, so rows of the kernel change places."""

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


def flattened_before(modules: list[Module]) -> dict[int, Shape]:
    """Return, by the id of a layer, the shape that was flattened into the features that it sees.

    Layers are taken in the order of their definition: what follows a Flatten sees its features, up to the first Dense.

    Args:
        modules: The modules of a program, in that order.
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


def reordered(choice: Choice, shape: Shape) -> Choice:
    """Return a choice whose first axis goes from ``(channels, *space)`` to ``(*space, channels)``.

    Args:
        choice: A choice.
        shape: What was flattened, without the batch: ``(*space, channels)``.
    """
    numbers = np.arange(prod(shape)).reshape(shape[-1], *shape[:-1])
    order = np.moveaxis(numbers, 0, -1).reshape(-1)

    def convert(*arrays: HostArray) -> HostArray:
        return choice.convert(*arrays)[order]

    return Choice(choice.names, convert, f"features as Flatten has them from {shape}, channels last")
