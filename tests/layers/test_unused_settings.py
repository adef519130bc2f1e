"""Settings that nothing would use are refused where they are written."""

import numpy as np
import pytest

from graftax import initializers, layers
from graftax.core.errors import ArgumentError

WITH_BIAS = {
    "dense": lambda **given: layers.Dense(2, **given),
    "conv1d": lambda **given: layers.Conv1D(2, 3, **given),
    "conv2d": lambda **given: layers.Conv2D(2, 3, **given),
    "lstm": lambda **given: layers.LSTM(2, **given),
    "gru": lambda **given: layers.GRU(2, **given),
    "attention": lambda **given: layers.MultiHeadAttention(2, 2, **given),
}
NORMS = {"batch": layers.BatchNormalization, "layer": layers.LayerNormalization}
SETTINGS = {"initializer": ["ones", 0.5, np.ones(2)], "regularizer": ["l2", abs], "constraint": ["non_neg"]}


@pytest.mark.parametrize("kind", WITH_BIAS)
@pytest.mark.parametrize("setting", SETTINGS)
def test_settings_of_a_bias_that_there_is_not_are_refused(kind, setting):
    if (kind, setting) == ("attention", "constraint"):
        pytest.skip("its biases have no constraints")
    for value in SETTINGS[setting]:
        with pytest.raises(ArgumentError, match=f"use_bias=False and bias_{setting}="):
            WITH_BIAS[kind](use_bias=False, **{f"bias_{setting}": value})
        WITH_BIAS[kind](**{f"bias_{setting}": value} if kind != "lstm" or np.shape(value) == () else {})


@pytest.mark.parametrize("kind", NORMS)
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize(("switch", "part", "usual"), [("center", "beta", "zeros"), ("scale", "gamma", "ones")])
def test_settings_of_a_part_of_a_norm_that_there_is_not_are_refused(kind, setting, switch, part, usual):
    for value in SETTINGS[setting]:
        if isinstance(value, str) and value == usual:
            continue
        with pytest.raises(ArgumentError, match=f"{switch}=False and {part}_{setting}="):
            NORMS[kind](**{switch: False, f"{part}_{setting}": value})
        NORMS[kind](**{f"{part}_{setting}": value})


def test_what_is_so_unless_told_may_be_told():
    for make in WITH_BIAS.values():
        make(use_bias=False, bias_initializer="zeros", bias_regularizer=None)
        make(use_bias=False, bias_initializer=initializers.Zeros())
    for norm in NORMS.values():
        norm(center=False, scale=False, beta_initializer="zeros", gamma_initializer="ones", gamma_constraint=None)


def test_a_forget_bias_of_one_replaces_no_part_of_an_array_in_silence():
    bias = np.arange(8, dtype="float32")
    with pytest.raises(ArgumentError, match="unit_forget_bias=False"):
        layers.LSTM(2, bias_initializer=bias)
    layer = layers.LSTM(2, bias_initializer=bias, unit_forget_bias=False)
    layer.build((None, 3, 4))
    assert layer.bias.numpy().tolist() == bias.tolist()
    layer = layers.LSTM(2, bias_initializer=0.5)
    layer.build((None, 3, 4))
    assert layer.bias.numpy().tolist() == [0.5, 0.5, 1, 1, 0.5, 0.5, 0.5, 0.5]
    layers.LSTM(2, use_bias=False).build((None, 3, 4))
