"""What numbers of constructors and calls may be: used, or refused in words."""

import inspect
import math

import numpy as np
import pytest

from graftax import layers
from graftax.core.errors import ArgumentTypeError, GraftaxError

NAMES = [
    "Dense", "Conv1D", "Conv2D", "Conv3D", "Dropout", "Embedding", "LSTM", "GRU", "MultiHeadAttention",
    "BatchNormalization", "LayerNormalization", "Reshape", "Concatenate", "MaxPooling1D", "AveragePooling2D",
    "GlobalAveragePooling1D", "GlobalMaxPooling2D", "RotaryEmbedding", "Flatten",
]  # fmt: skip
REQUIRED = {
    "units": 2, "filters": 2, "kernel_size": 2, "rate": 0.5, "input_dim": 5, "output_dim": 2, "num_heads": 2,
    "key_dim": 2, "target_shape": (3,),
}  # fmt: skip
NONSENSE = [
    math.nan, math.inf, -math.inf, -0.5, "a", b"2", np.float32(math.nan), np.array(2.5), np.array([[2, 2]]), 10**30, 1j,
    object(), {}, [], [2.5],
]  # fmt: skip


LARGE = repr(10**30)
MEANINGFUL = {
    ("name", "'a'"),
    ("synchronized", "'a'"),
    ("padding", "array([[2, 2]])"),
    ("target_shape", "[]"),
    ("noise_shape", "[]"),
} | {(name, LARGE) for name in ("axis", "base", "rotary_base", "epsilon")}
"""What makes sense somewhere: one axis has one pair of borders, no axes are a shape, too, and which axes there are is
known when the layer is called, as are the names of axes."""


@pytest.mark.parametrize("name", NAMES)
def test_no_argument_of_a_layer_takes_nonsense(name):
    kind = getattr(layers, name)
    parameters = inspect.signature(kind).parameters.values()
    required = {p.name: REQUIRED[p.name] for p in parameters if p.default is p.empty}
    for parameter in parameters:
        if parameter.name.endswith(("initializer", "regularizer", "constraint")):
            continue
        for value in NONSENSE:
            if (parameter.name, repr(value)) in MEANINGFUL:
                continue
            try:
                kind(**{**required, parameter.name: value})
            except GraftaxError:
                continue
            pytest.fail(f"{name}({parameter.name}={value!r}) was accepted")


@pytest.mark.parametrize("value", [np.int64(2), np.uint8(2), np.array(2)])
def test_integers_of_numpy_are_sizes(value):
    assert layers.Dense(value).units == 2
    assert layers.Conv1D(4, value, groups=value).groups == 2
    assert layers.MaxPooling2D(value).pool_size == (2, 2)
    assert isinstance(layers.Dense(value).units, int)


@pytest.mark.parametrize("start", [math.nan, math.inf, True, 1j, np.float32(math.nan)])
def test_a_position_is_an_integer(start):
    with pytest.raises(GraftaxError, match="start[= ]"):
        layers.RotaryEmbedding()(np.ones((1, 2, 1, 4), "float32"), start=start)


@pytest.mark.parametrize(
    "given", ["a", 3, object(), [np.ones((2, 3), "float32")] * 2, {"a": np.ones((2, 3), "float32")}]
)
@pytest.mark.parametrize("make", [lambda: layers.Dropout(0.5), layers.Flatten, lambda: layers.Reshape((3,)),
                                  layers.GlobalAveragePooling1D, layers.RotaryEmbedding])  # fmt: skip
def test_a_layer_of_one_array_takes_one_array(make, given):
    with pytest.raises(ArgumentTypeError, match="in place of an array"):
        make()(given)
