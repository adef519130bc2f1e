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


def test_the_numbers_of_elu_and_gelu_are_those_of_torch(torch):
    x = np.linspace(-3, 3, 13, dtype="float32")
    for ours, theirs in (
        (layers.ELU(0.7), torch.nn.ELU(0.7)),
        (layers.GELU(), torch.nn.GELU()),
        (layers.GELU(approximate=True), torch.nn.GELU(approximate="tanh")),
        (layers.Identity(), torch.nn.Identity()),
    ):
        np.testing.assert_allclose(ours(x), theirs(torch.tensor(x)), rtol=1e-5, atol=1e-6)
