import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.layers.call_context import call_context

X = np.arange(6, dtype="float32").reshape(2, 3)


def test_a_function_gets_what_it_has_parameters_for():
    layer = layers.Lambda(lambda x, training, power: x**power if training else x, arguments={"power": 2})
    np.testing.assert_array_equal(layer(X), X)
    np.testing.assert_array_equal(layer(X, training=True), X**2)
    np.testing.assert_array_equal(gx.Sequential([layers.Lambda(ops.negative), layer])(X, training=True), X**2)
    assert layers.Lambda(lambda x: ops.concatenate([x, x], 1)).compute_output_shape((None, 3)) == (None, 6)


def test_what_becomes_of_a_mask():
    mask = np.array([[True, False, True], [True, True, False]])
    with pytest.warns(UserWarning, match="is dropped"):
        layers.Lambda(abs)(X, mask=mask)
    with call_context() as context:
        out = layers.Lambda(lambda x, mask: ops.where(mask, x, -1), mask=lambda x, mask: mask)(X, mask=mask)
        np.testing.assert_array_equal(out, np.where(mask, X, -1))
        np.testing.assert_array_equal(context.mask_of(out), mask)
        np.testing.assert_array_equal(context.mask_of(layers.Lambda(ops.negative, mask=mask)(X)), mask)


def test_bad_settings_are_refused():
    with pytest.raises(gx.errors.ArgumentTypeError, match="a Layer is used as it is"):
        layers.Lambda(layers.Dense(2))
    with pytest.raises(gx.errors.ArgumentTypeError, match="function of the input"):
        layers.Lambda("x * 2")
    with pytest.raises(gx.errors.ArgumentTypeError, match="arguments="):
        layers.Lambda(abs, arguments=[1])
    with pytest.raises(gx.errors.ArgumentTypeError, match="None"):
        layers.Lambda(lambda x: None)(X)
