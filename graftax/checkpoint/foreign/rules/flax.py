"""Rules for Flax (linen): the same layouts with other names; recurrent cells have separate weights for each gate.

Source: the ``__call__`` of each module of flax.linen.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from graftax.checkpoint.arrays import HostArray
from graftax.checkpoint.foreign.rules.layouts import identity, reshape_to, single_choice
from graftax.checkpoint.foreign.unit import Choice, Choices, Rule
from graftax.core.errors import ArgumentError


def _kernel_and_bias(layer: object) -> Choices:
    found = {}
    for name in ("kernel", "bias"):
        value = getattr(layer, name, None)
        if value is not None:
            found[name] = (Choice((name,), identity), Choice((name,), reshape_to(tuple(value.shape))))
    return found


def _conv(layer: object) -> Choices:
    return {"kernel": single_choice("kernel"), "bias": single_choice("bias")}


def _depthwise(layer: Any) -> Choices:
    return {"kernel": single_choice("kernel", reshape_to(tuple(layer.kernel.shape))), "bias": single_choice("bias")}


def _separable(layer: Any) -> Choices:
    """Two layers of Flax, whose arrays a name map gives."""
    return {
        "depthwise_kernel": single_choice("depthwise.kernel", reshape_to(tuple(layer.depthwise_kernel.shape))),
        "pointwise_kernel": single_choice("pointwise.kernel"),
        "bias": single_choice("pointwise.bias"),
    }


def _conv_transpose(layer: object) -> Choices:
    def kernel(x: HostArray) -> HostArray:
        """Return a kernel ``(..., in, out)`` as ``(..., out, in)``, flipped along its spatial axes."""
        return np.flip(x, tuple(range(x.ndim - 2))).swapaxes(-1, -2)

    return {"kernel": single_choice("kernel", kernel, "turned round"), "bias": single_choice("bias")}


def _embedding(layer: object) -> Choices:
    return {"embeddings": single_choice("embedding")}


def _normalization(layer: object) -> Choices:
    moving = {"moving_mean": single_choice("mean"), "moving_variance": single_choice("var")}
    return {"gamma": single_choice("scale"), "beta": single_choice("bias"), "scale": single_choice("scale"), **moving}


def _side_by_side(*parts: HostArray) -> HostArray:
    return np.concatenate(parts, axis=-1)


def _lstm(layer: object) -> Choices:
    def gates(begin: str, parameter: str) -> tuple[str, ...]:
        return tuple(f"{begin}{gate}.{parameter}" for gate in "ifgo")

    return {
        "kernel": (Choice(gates("i", "kernel"), _side_by_side),),
        "recurrent_kernel": (Choice(gates("h", "kernel"), _side_by_side),),
        "bias": (Choice(gates("h", "bias"), _side_by_side),),
    }


def _gru(layer: Any) -> Choices:
    if not layer.reset_after:
        raise ArgumentError(
            f"{layer.path!r} has reset_after=False",
            "the reset gate of Flax scales what comes out of the product with the state",
            f"gx.layers.{type(layer).__name__}({layer.units}), whose reset_after is True",
        )

    def bias(z: HostArray, r: HostArray, n: HostArray, inner: HostArray) -> HostArray:
        none = np.zeros_like(z)
        return np.stack([_side_by_side(z, r, n), _side_by_side(none, none, inner)])

    return {
        "kernel": (Choice(("iz.kernel", "ir.kernel", "in.kernel"), _side_by_side),),
        "recurrent_kernel": (Choice(("hz.kernel", "hr.kernel", "hn.kernel"), _side_by_side),),
        "bias": (Choice(("iz.bias", "ir.bias", "in.bias", "hn.bias"), bias),),
    }


RULES: dict[str, Rule] = {
    "dense.Dense": _kernel_and_bias,
    "conv.Conv": _conv,
    "conv_transpose.ConvTranspose": _conv_transpose,
    "depthwise_conv.DepthwiseConv": _depthwise,
    "separable_conv.SeparableConv": _separable,
    "embedding.Embedding": _embedding,
    "layer_normalization.LayerNormalization": _normalization,
    "group_normalization.GroupNormalization": _normalization,
    "rms_normalization.RMSNormalization": _normalization,
    "batch_normalization.BatchNormalization": _normalization,
    "lstm.LSTMStep": _lstm,
    "gru.GRUStep": _gru,
}
"""Rules by the class of the graftax layer."""
