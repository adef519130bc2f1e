import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graftax as gx
from graftax import activations, ops
from graftax.backend import registry
from tests.conformance.lanes import crossed

NAMES = (
    "linear relu sigmoid tanh softmax log_softmax gelu silu swish elu selu softplus softsign leaky_relu log_sigmoid "
    "relu6 mish exponential hard_sigmoid celu glu hard_silu hard_swish hard_tanh hard_shrink soft_shrink tanh_shrink "
    "squareplus sparse_plus sparse_sigmoid sparsemax"
).split()
JAX = {
    "linear": lambda x: x,
    "tanh": jax.numpy.tanh,
    "exponential": jax.numpy.exp,
    "gelu": lambda x: jax.nn.gelu(x, approximate=False),
    "leaky_relu": lambda x: jax.nn.leaky_relu(x, 0.2),
    "softsign": jax.nn.soft_sign,
    "hard_shrink": lambda x: jax.numpy.where(abs(x) > 0.5, x, 0),
    "soft_shrink": lambda x: x - jax.numpy.clip(x, -0.5, 0.5),
    "tanh_shrink": lambda x: x - jax.numpy.tanh(x),
}
# the kinks among them
X = np.float32([-1000, -30, -6, -3, -1, -1e-3, 0, 1e-3, 1, 3, 6, 30]).reshape(2, 6)


def of_jax(name):
    return JAX.get(name) or getattr(jax.nn, name)


def test_all_names_are_there():
    assert sorted(activations._NAMES) == sorted(NAMES)


@pytest.mark.in_turn(12, broad=7)
@pytest.mark.parametrize("name", sorted(set(NAMES) - {"sparsemax"}))
def test_values_and_slopes_are_those_of_jax(name):
    ours, theirs = activations.get(name), of_jax(name)
    np.testing.assert_allclose(ours(X), theirs(X), rtol=1e-5, atol=1e-6)
    shape = ours(X).shape
    mix = np.linspace(-1, 1, np.prod(shape), dtype="float32").reshape(shape)
    slope = gx.jit(gx.grad(lambda x: ops.sum(ours(x) * mix)))(X)
    expected = jax.jit(jax.grad(lambda x: (theirs(x) * mix).sum()))(X)
    np.testing.assert_allclose(slope, expected, rtol=1e-4, atol=1e-5)
    assert np.isfinite(slope).all()


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"sparsemax"}))  # Keras gives rows whose sum is not 1
def test_values_are_those_of_keras(name, keras):
    theirs = keras.activations.get(name)
    np.testing.assert_allclose(activations.get(name)(X), theirs(jax.numpy.asarray(X)), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_values_are_those_of_numpy(name):
    expected = np.asarray(activations.get(name)(X))
    with registry.use("numpy"):
        out = activations.get(name)(X)
    assert isinstance(out, np.ndarray)
    assert out.dtype == expected.dtype
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.in_turn(3, 1)
@pytest.mark.parametrize("name", NAMES)
@given(number=st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_stable_for_every_number(name, number):
    with registry.use("numpy"), np.errstate(all="ignore"):
        out = activations.get(name)(np.float32([number, 0.0]))
    assert not np.isnan(out).any()


@pytest.mark.in_turn(3, 2)
@pytest.mark.parametrize("name", sorted(set(NAMES) - {"softmax", "log_softmax"}))
def test_nan_stays_nan(name):
    assert np.isnan(activations.get(name)(np.float32([np.nan, np.nan]))).all()


@pytest.mark.in_turn(4, 3)
@pytest.mark.parametrize(("name", "dtype"), crossed(NAMES, ["bfloat16", "float16"]))
def test_short_dtypes_stay(name, dtype):
    out = activations.get(name)(ops.cast(X, dtype))
    assert str(out.dtype) == dtype


@pytest.mark.broad
def test_reference_numbers():
    assert float(activations.gelu(1.0)) == pytest.approx(0.84134, abs=1e-5)
    assert float(activations.gelu(1.0, approximate=True)) == pytest.approx(0.84119, abs=1e-5)
    assert float(activations.hard_sigmoid(1.0)) == pytest.approx(0.66667, abs=1e-5)
    assert float(activations.leaky_relu(-1.0)) == pytest.approx(-0.2)
    np.testing.assert_allclose(activations.gelu(X, approximate=True), jax.nn.gelu(X), rtol=1e-5, atol=1e-6)


@pytest.mark.broad
def test_softmax_of_nothing_is_zero():
    hidden = np.full((2, 3), -np.inf, "float32")
    assert activations.softmax(hidden).tolist() == [[0.0] * 3] * 2
    np.testing.assert_allclose(activations.softmax(X, axis=(0, 1)).sum(), 1, rtol=1e-6)
    np.testing.assert_allclose(activations.softmax(X, axis=0).sum(axis=0), 1, rtol=1e-6)


def test_variables_and_lists_are_taken():
    v = gx.Variable([-1.0, 2.0])
    assert activations.relu(v).tolist() == activations.relu([-1.0, 2.0]).tolist() == [0.0, 2.0]


def test_get():
    assert activations.get(None) is activations.linear
    assert activations.get("swish") is activations.silu
    assert activations.get(np.tanh) is np.tanh
    with pytest.raises(gx.errors.ArgumentError, match=r"'reul'(.|\n)*no such name\n.*'relu'; there are.*relu6"):
        activations.get("reul")
