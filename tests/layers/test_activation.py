import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops


def test_names_and_functions():
    x = np.float32([[-1, 2]])
    for activation in ("elu", gx.activations.elu):
        np.testing.assert_array_equal(layers.Activation(activation)(x), gx.activations.elu(x))
    np.testing.assert_array_equal(layers.Activation(lambda x: ops.square(x))(x), [[1, 4]])


def test_unknown_names_are_refused():
    with pytest.raises(gx.errors.ArgumentError, match="'rulu'"):
        layers.Activation("rulu")
