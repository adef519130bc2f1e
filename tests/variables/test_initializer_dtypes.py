"""What initializers give in dtypes other than float32."""

import jax
import numpy as np
import pytest

from graftax.core.errors import ArgumentError, DTypeError
from graftax.variables import initializers as i
from graftax.variables.variable import Variable

REAL_ONLY = [
    i.TruncatedNormal(),
    i.RandomUniform(),
    i.GlorotUniform(),
    i.GlorotNormal(),
    i.HeNormal(),
    i.LecunUniform(),
]


@pytest.mark.parametrize("initializer", REAL_ONLY, ids=repr)
def test_laws_of_real_numbers_are_refused_for_complex_variables(initializer):
    with pytest.raises(DTypeError, match="complex64"):
        Variable(shape=(3, 3), dtype="complex64", initializer=initializer)


@pytest.mark.broad
@pytest.mark.parametrize(
    "initializer",
    [i.RandomNormal(stddev=1.0), i.VarianceScaling(3.0, "fan_in", "untruncated_normal"), i.Orthogonal(), i.Identity()],
    ids=repr,
)
def test_what_is_defined_for_complex_variables_is_there(initializer):
    value = Variable(shape=(3, 3), dtype="complex64", initializer=initializer).numpy()
    assert value.dtype == np.complex64
    assert np.isfinite(value).all()


@pytest.mark.broad
@pytest.mark.parametrize("shape", [(30, 30), (20, 40), (3, 3, 4, 8)])
def test_orthogonal_weights_of_float64_are_so_to_its_digits(shape):
    with jax.enable_x64(True):
        value = Variable(shape=shape, dtype="float64", initializer=i.Orthogonal(2.0)).numpy()
    assert value.dtype == np.float64
    flat = value.reshape(-1, shape[-1])
    square = flat @ flat.T if flat.shape[0] < flat.shape[1] else flat.T @ flat
    np.testing.assert_allclose(square, 4 * np.eye(len(square)), atol=1e-13)


@pytest.mark.parametrize(("dtype", "gain"), [("int32", 0.5), ("int8", 1.5), ("bool", 2.0)])
def test_a_gain_that_a_variable_cannot_hold_is_refused(dtype, gain):
    with pytest.raises(ArgumentError, match=f"gain={gain}"):
        Variable(shape=(2, 2), dtype=dtype, initializer=i.Identity(gain))


def test_a_whole_gain_of_integers_is_used():
    made = [Variable(shape=(2, 2), dtype="int32", initializer=i.Identity(g)).numpy().tolist() for g in (1, 3.0)]
    assert made == [[[1, 0], [0, 1]], [[3, 0], [0, 3]]]
    assert Variable(shape=(2, 2), dtype="bool", initializer=i.Identity()).numpy().tolist() == [[1, 0], [0, 1]]
