"""Rules for torch: the names and layouts of the tensors of its layers.

Source: the documentation of torch.nn on the attributes of each module.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from graftax.checkpoint.arrays import HostArray
from graftax.checkpoint.foreign.rules.layouts import add, channels_last, identity, single_choice, transpose
from graftax.checkpoint.foreign.unit import Choice, Choices, Convert, Rule
from graftax.core.errors import ArgumentError


def _dense(layer: object) -> Choices:
    return {
        "kernel": (*single_choice("weight", transpose), *single_choice("", transpose)),
        "bias": single_choice("bias"),
    }


def _conv(layer: object) -> Choices:
    return {"kernel": single_choice("weight", channels_last), "bias": single_choice("bias")}


def _depthwise(layer: Any) -> Choices:
    multiplier = layer.depth_multiplier

    def kernel(x: HostArray) -> HostArray:
        """Return ``(in * multiplier, 1, ...)`` as ``(..., in, multiplier)``."""
        if x.ndim < 3 or x.shape[1] != 1:
            raise ValueError("each filter sees one channel")
        found: HostArray = np.moveaxis(x[:, 0].reshape(-1, multiplier, *x.shape[2:]), (0, 1), (-2, -1))
        return found

    return {"kernel": single_choice("weight", kernel), "bias": single_choice("bias")}


def _separable(layer: object) -> Choices:
    """Two layers of torch, whose arrays a name map gives."""
    (depthwise,) = _depthwise(layer)["kernel"]
    return {
        "depthwise_kernel": (depthwise._replace(names=("depthwise.weight",)),),
        "pointwise_kernel": single_choice("pointwise.weight", channels_last),
        "bias": single_choice("pointwise.bias"),
    }


def _conv_transpose(layer: object) -> Choices:
    return {"kernel": single_choice("weight", channels_last), "bias": single_choice("bias")}


def _embedding(layer: object) -> Choices:
    return {"embeddings": (*single_choice("weight"), *single_choice(""))}


def _without_batch(x: HostArray) -> HostArray:
    found: HostArray = x[0]
    return found


def _positions(layer: object) -> Choices:
    choices = (
        *single_choice("weight"),
        *single_choice(""),
        *single_choice("weight", _without_batch),
        *single_choice("", _without_batch),
    )
    return {"position_embeddings": choices}


def _normalization(layer: object) -> Choices:
    """Of layers with a gamma, or with a scale alone."""
    return {"gamma": single_choice("weight"), "beta": single_choice("bias"), "scale": single_choice("weight")}


def _image_first(x: HostArray) -> HostArray:
    if x.ndim < 3:
        raise ValueError("no image")
    return np.moveaxis(x, 0, -1)


def _layer_normalization(layer: object) -> Choices:
    """Of an image as a whole, weights have its channels first."""
    return {
        name: (Choice((there,), _image_first, "channels last"), *single_choice(there))
        for name, there in (("gamma", "weight"), ("beta", "bias"))
    }


def _batch_normalization(layer: object) -> Choices:
    moving = {"moving_mean": single_choice("running_mean"), "moving_variance": single_choice("running_var")}
    return {**_normalization(layer), **moving}


def _recurrent(bias: tuple[Choice, ...], change: Convert = identity) -> Choices:
    def kernel(x: HostArray) -> HostArray:
        return change(transpose(x))

    return {
        "kernel": single_choice("weight_ih", kernel),
        "recurrent_kernel": single_choice("weight_hh", kernel),
        "bias": bias,
    }


_SUMMED = (Choice(("bias_ih", "bias_hh"), add, "the sum of bias_ih and bias_hh"),)


def _simple(layer: object) -> Choices:
    return _recurrent(_SUMMED)


def _gru(layer: Any) -> Choices:
    if not layer.reset_after:
        raise ArgumentError(
            f"the layer {layer.path!r} has reset_after=False",
            "torch applies the reset gate after the product of the state with the weights",
            f"gx.layers.{type(layer).__name__}({layer.units}), whose reset_after is True",
        )

    def gates(x: HostArray) -> HostArray:
        """Return gates r, z, n on the last axis as z, r, n."""
        reset, keep, new = np.split(x, 3, axis=-1)
        return np.concatenate([keep, reset, new], axis=-1)

    def bias(x: HostArray, y: HostArray) -> HostArray:
        return np.stack([gates(x), gates(y)])

    note = "gates r, z, n as z, r, n"
    choices = _recurrent((Choice(("bias_ih", "bias_hh"), bias, note),), gates)
    return {name: tuple(choice._replace(note=note) for choice in ways) for name, ways in choices.items()}


def _prelu(layer: Any) -> Choices:
    shape = tuple(layer.alpha.shape)

    def spread(x: HostArray) -> HostArray:
        return np.broadcast_to(x, shape)

    return {"alpha": single_choice("weight", spread)}


RULES: dict[str, Rule] = {
    "dense.Dense": _dense,
    "conv.Conv": _conv,
    "conv_transpose.ConvTranspose": _conv_transpose,
    "depthwise_conv.DepthwiseConv": _depthwise,
    "separable_conv.SeparableConv": _separable,
    "embedding.Embedding": _embedding,
    "position_embedding.PositionEmbedding": _positions,
    "layer_normalization.LayerNormalization": _layer_normalization,
    "group_normalization.GroupNormalization": _normalization,
    "rms_normalization.RMSNormalization": _normalization,
    "batch_normalization.BatchNormalization": _batch_normalization,
    "lstm.LSTMStep": _simple,
    "gru.GRUStep": _gru,
    "simple_rnn.SimpleRNNStep": _simple,
    "relu_layers.PReLU": _prelu,
}
"""Rules by the class of the graftax layer."""
