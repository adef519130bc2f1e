"""Settings that make no sense are refused where they are written, in three beats."""

import warnings

import numpy as np
import pytest

import graftax as gx
from graftax import initializers, layers
from graftax.core.errors import ArgumentError, ArgumentTypeError, GraftaxError

L = layers
X = np.ones((2, 4, 6), "float32")
WRONG = {
    "use_bias": lambda: L.Dense(2, use_bias="no"),
    "conv_use_bias": lambda: L.Conv1D(2, 2, use_bias=2),
    "trainable": lambda: L.Dense(2, trainable="no"),
    "dtype": lambda: L.Dense(2, dtype=5),
    "dtype_class": lambda: L.Dense(2, dtype=np.float32),
    "name": lambda: L.Dense(2, name=3),
    "activation_class": lambda: L.Dense(2, L.Activation),
    "initializer_class": lambda: L.Dense(2, kernel_initializer=initializers.GlorotUniform),
    "regularizer_class": lambda: L.Dense(2, kernel_regularizer=gx.regularizers.L2),
    "constraint_class": lambda: L.Dense(2, kernel_constraint=gx.constraints.NonNeg),
    "seed_negative": lambda: L.Dropout(0.5, seed=-1),
    "seed_fraction": lambda: L.Dropout(0.5, seed=1.5),
    "seed_bool": lambda: L.LSTM(2, dropout=0.5, seed=True),
    "seed_unused": lambda: L.GRU(2, seed="a"),
    "initializer_seed": lambda: L.Dense(2, kernel_initializer=initializers.GlorotUniform(seed=-3))(X),
    "rate": lambda: L.Dropout(1.5),
    "rate_nan": lambda: L.Dropout(float("nan")),
    "noise_negative": lambda: L.Dropout(0.5, (2, -1)),
    "noise_number": lambda: L.Dropout(0.5, 3),
    "noise_set": lambda: L.Dropout(0.5, {1}),
    "noise_bool": lambda: L.Dropout(0.5, (True, None)),
    "noise_fraction": lambda: L.Dropout(0.5, (1.0, None)),
    "axes_set": lambda: L.LayerNormalization(axis={1, 2}),
    "axes_twice": lambda: L.LayerNormalization(axis=(1, 1)),
    "axes_twice_from_the_end": lambda: L.LayerNormalization(axis=(-1, 2))(X),
    "axes_none": lambda: L.LayerNormalization(axis=()),
    "axis_bool": lambda: L.LayerNormalization(axis=True),
    "axis_fraction": lambda: L.LayerNormalization(axis=1.0),
    "axis_text": lambda: L.LayerNormalization(axis="1"),
    "epsilon": lambda: L.LayerNormalization(epsilon=float("inf")),
    "center": lambda: L.LayerNormalization(center="x"),
    "channels_bool": lambda: L.BatchNormalization(axis=True),
    "channels_tuple": lambda: L.BatchNormalization(axis=(1, 2)),
    "channels_none": lambda: L.BatchNormalization(axis=None),
    "unbiased": lambda: L.BatchNormalization(unbiased_moving_variance="x"),
    "keepdims": lambda: L.GlobalAveragePooling1D("x"),
    "mask_zero": lambda: L.Embedding(5, 2, mask_zero="x"),
    "return_sequences": lambda: L.LSTM(2, return_sequences="x"),
    "go_backwards": lambda: L.GRU(2, go_backwards=None),
    "forget_bias": lambda: L.LSTM(2, unit_forget_bias="x"),
    "reset_after": lambda: L.GRU(2, reset_after="x"),
    "rotary_text": lambda: L.MultiHeadAttention(2, 2, rotary_base="a"),
    "rotary_odd": lambda: L.MultiHeadAttention(2, 3, rotary_base=10.0),
    "attention_bias": lambda: L.MultiHeadAttention(2, 2, use_bias="x"),
    "target_bool": lambda: L.Reshape((True, 24)),
    "target_set": lambda: L.Reshape({24}),
    "joined_bool": lambda: L.Concatenate(axis=True),
    "joined_none": lambda: L.Concatenate(axis=None),
    "base_text": lambda: L.RotaryEmbedding("a"),
    "base_infinite": lambda: L.RotaryEmbedding(float("inf")),
    "padding": lambda: L.Conv2D(2, 3, padding=-1),
    "kernel_set": lambda: L.Conv2D(2, {3, 2}),
    "training_text": lambda: L.Dropout(0.5)(X, training="no"),
    "training_number": lambda: L.Dropout(0.5)(X, training=2),
    "weight_trainable": lambda: gx.Layer().add_weight((2,), trainable="no"),
    "weight_regularizer": lambda: gx.Layer().add_weight((2,), regularizer="l3"),
}


@pytest.mark.parametrize("case", WRONG)
def test_l14_settings_that_make_no_sense(case):
    with pytest.raises((ArgumentError, ArgumentTypeError)) as caught:
        WRONG[case]()
    assert caught.value.reason
    assert caught.value.instead


GOOD = {
    "numpy_rate": lambda: L.Dropout(np.float32(0.5))(X),
    "numpy_sizes": lambda: L.Conv1D(np.int64(3), np.array([2]))(X),
    "numpy_target": lambda: L.Reshape((np.int64(24),))(X),
    "numpy_axis": lambda: L.LayerNormalization(np.int64(1))(X),
    "number_flag": lambda: L.Dense(2, use_bias=0)(X),
    "training_by_place": lambda: L.Dropout(0.5)(X, False),
    "mask_by_place": lambda: L.GlobalAveragePooling1D()(X, np.ones((2, 4), bool)),
    "first_by_name": lambda: L.Dropout(0.5)(training=False, x=X),
    "no_mask": lambda: L.LSTM(2)(X, mask=None),
    "no_mask_either": lambda: L.Dense(2)(X, mask=None),
}


@pytest.mark.parametrize("case", GOOD)
def test_settings_in_other_spellings(case):
    assert np.isfinite(np.asarray(GOOD[case]())).all()


@pytest.mark.parametrize("name", ["l2", "L2"])
def test_penalties_of_weights_have_names(name):
    layer = gx.Layer()
    layer.weight = layer.add_weight((2,), initializer="ones", regularizer=name)
    assert float(layer.losses[0]) == pytest.approx(0.02)


INTEGERS = {
    "layer_normalization": (lambda: L.LayerNormalization(), [[0, 1, 5]]),
    "batch_normalization": (lambda: L.BatchNormalization(), [[0, 1, 5]]),
    "rotary": (lambda: L.RotaryEmbedding(), np.arange(8).reshape(1, 2, 1, 4)),
    "average_pooling": (lambda: L.AveragePooling1D(2), np.arange(6).reshape(1, 6, 1)),
    "global_average_pooling": (lambda: L.GlobalAveragePooling1D(), np.arange(6).reshape(1, 6, 1)),
    "truth": (lambda: L.GlobalAveragePooling1D(), np.arange(6).reshape(1, 6, 1) > 1),
    "average": (lambda: L.Average(), [np.arange(3), np.arange(3) * 2]),
}


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("case", INTEGERS)
def test_fractions_of_integers_are_kept(case):
    make, x = INTEGERS[case]
    x = [np.asarray(a) for a in x] if case == "average" else np.asarray(x)
    as_float = [a.astype("float32") for a in x] if case == "average" else x.astype("float32")
    out = make()(x)
    assert str(out.dtype) == "float32"
    np.testing.assert_allclose(out, make()(as_float), atol=1e-6)


@pytest.mark.broad
def test_l14_a_seeded_initializer_of_two_layers_gives_two_kernels():
    def kernels(shared):
        made = [L.Dense(4, kernel_initializer=shared) for _ in range(3)]
        for layer in made:
            layer(X)
        return [layer.kernel.numpy() for layer in made]

    first, second, third = kernels(initializers.GlorotUniform(seed=1))
    assert (first != second).any()
    assert (second != third).any()
    for mine, other in zip(kernels(initializers.GlorotUniform(seed=1)), (first, second, third), strict=True):
        np.testing.assert_array_equal(mine, other)  # a seed says it all
    shared = initializers.GlorotUniform(seed=1)
    gx.set_random_seed(0)
    once = kernels(shared)
    gx.set_random_seed(0)
    np.testing.assert_array_equal(kernels(shared), once)


def test_a_seeded_bias_of_an_lstm_keeps_its_seed():
    biases = []
    for seed in (1, 2):
        gx.set_random_seed(seed)
        layer = L.LSTM(3, bias_initializer=initializers.RandomNormal(seed=5))
        layer(X)
        biases.append(layer.bias.numpy())
    np.testing.assert_array_equal(*biases)


def test_l15_a_window_larger_than_the_input_raises():
    for layer in (L.MaxPooling1D(5), L.AveragePooling1D(5), L.Conv1D(2, 5)):
        with pytest.raises(GraftaxError, match="5"):
            layer(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert L.MaxPooling1D(5, padding="same")(X).shape == (2, 1, 6)
