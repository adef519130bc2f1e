import numpy as np
import pytest

import graftax as gx
from graftax import layers

SIZES = (5, 6, 7)
CASES = [
    (1, 2, ((2, 2),)),
    (1, (1, 2), ((1, 2),)),
    (2, (1, 2), ((1, 1), (2, 2))),
    (2, ((0, 1), (2, 0)), ((0, 1), (2, 0))),
    (3, 1, ((1, 1),) * 3),
]


def data(space):
    return np.random.default_rng(0).normal(size=(2, *SIZES[:space], 3)).astype("float32")


@pytest.mark.in_turn(2)
@pytest.mark.parametrize(("space", "given", "pairs"), CASES, ids=str)
def test_what_is_put_around_can_be_cut_off(space, given, pairs):
    x = data(space)
    padded = getattr(layers, f"ZeroPadding{space}D")(given)(x)
    np.testing.assert_array_equal(padded, np.pad(x, [(0, 0), *pairs, (0, 0)]))
    np.testing.assert_array_equal(getattr(layers, f"Cropping{space}D")(given)(padded), x)


@pytest.mark.parametrize(("space", "given", "pairs"), CASES, ids=str)
def test_values_are_those_of_keras(keras, space, given, pairs):
    for name in ("ZeroPadding", "Cropping"):
        ours, theirs = (getattr(m, f"{name}{space}D")(given) for m in (layers, keras.layers))
        np.testing.assert_array_equal(ours(data(space)), theirs(data(space)))


def test_bad_input_is_refused():
    for value in (-1, "same", (1, 2, 3), 1.5, None):
        with pytest.raises(gx.errors.ArgumentError, match="padding="):
            layers.ZeroPadding2D(value)
        with pytest.raises(gx.errors.ArgumentError, match="cropping="):
            layers.Cropping2D(value)
    with pytest.raises(gx.errors.ShapeError, match="nothing would be left"):
        layers.Cropping1D(3)(data(1))
    with pytest.raises(gx.errors.ShapeError, match="needs 4 axes"):
        layers.ZeroPadding2D()(data(1))
