"""compute_output_shape of every layer, given what is no shape, or one that does not fit."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.core.errors import GraftaxError

LAYERS = {
    "Dense": lambda: layers.Dense(2),
    "Conv2D": lambda: layers.Conv2D(2, 3),
    "LSTM": lambda: layers.LSTM(2),
    "Embedding": lambda: layers.Embedding(5, 2),
    "BatchNormalization": lambda: layers.BatchNormalization(),
    "Dropout": lambda: layers.Dropout(0.5),
    "Flatten": lambda: layers.Flatten(),
    "Reshape": lambda: layers.Reshape((2,)),
    "Add": lambda: layers.Add(),
    "MaxPooling2D": lambda: layers.MaxPooling2D(),
    "GlobalAveragePooling1D": lambda: layers.GlobalAveragePooling1D(),
    "GlobalMaxPooling2D": lambda: layers.GlobalMaxPooling2D(),
    "RotaryEmbedding": lambda: layers.RotaryEmbedding(),
    "Activation": lambda: layers.Activation("relu"),
    "Sequential": lambda: gx.Sequential([layers.Dense(2)]),
}
NO_SHAPES = [
    3,
    None,
    "ab",
    (2.0, 3),
    (-1, 3),
    (True, 3),
    np.array([2, 3]),
    [(2, 3), 3],
    {"a": 3},
    np.float32(2),
    object(),
]


@pytest.mark.parametrize("name", LAYERS)
def test_what_is_no_shape_is_refused_in_words(name):
    for given in NO_SHAPES:
        with pytest.raises(GraftaxError, match="compute_output_shape got") as caught:
            LAYERS[name]().compute_output_shape(given)
        assert "(None, 8)" in caught.value.instead


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("name", LAYERS)
def test_shapes_of_other_ranks_are_used_or_refused_in_words(name):
    for given in [(), (3,), (2, 3, 4, 5, 6, 7), [(2, 3), (2, 3)], {"a": (2, 3)}, (np.int64(2), 3)]:
        try:
            found = LAYERS[name]().compute_output_shape(given)
        except GraftaxError:
            continue
        assert isinstance(found, tuple | list | dict)


def test_numpy_integers_are_sizes():
    assert layers.Dense(2).compute_output_shape((np.int64(4), None, np.int32(3))) == (4, None, 2)
