"""Grids and penalties of weights in half precision: computed in float32, and never outside of what the bits hold."""

import numpy as np
import pytest

import graftax as gx
from graftax import initializers, layers, ops, reparam
from graftax.backend import registry

HALVES = ["bfloat16", "float16"]


def kernel(value, dtype):
    layer = layers.Dense(value.shape[-1], use_bias=False, dtype=dtype)
    layer.build((None, value.shape[0]))
    layer.kernel.assign(ops.cast(value, dtype))
    return layer


@pytest.mark.in_turn(12)
@pytest.mark.parametrize("name", ["jax", "numpy"])
@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("creator", [reparam.Int8(), reparam.Int8("tensor"), reparam.Int4()])
def test_the_largest_numbers_keep_their_sign_and_size(creator, dtype, name):
    value = np.random.default_rng(0).uniform(0.5, 1, (2, 2000)).astype("float32")
    value[1] = -value[0]  # whose quotient by the scale rounds to 128 in bfloat16
    with registry.use(name):
        layer = kernel(value, dtype)
        before = np.asarray(layer.kernel.value).astype("float32")
        gx.graft(layer, creator, where="kernel")
        after = np.asarray(layer.kernel.value).astype("float32")
        step = abs(before).max() / (2 ** (creator.bits - 1) - 1)
        assert abs(after - before).max() < 0.51 * step + 0.01 * abs(before).max()
        if creator.bits == 8:
            codes = np.asarray(layer.kernel.codes.value)
            assert (codes.min(), codes.max()) == (-127, 127)


@pytest.mark.broad
@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("symmetric", [True, False])
def test_a_grid_may_have_more_steps_than_half_precision_has_integers(dtype, symmetric):
    value = np.random.default_rng(0).normal(size=(6, 5)).astype("float32")
    layer = kernel(value, dtype)
    before = np.asarray(layer.kernel.value).astype("float32")
    gx.graft(layer, reparam.FakeQuant(16, symmetric=symmetric), where="kernel")
    assert layer.kernel.value.dtype == layer.kernel.dtype == dtype
    after = np.asarray(layer.kernel.value).astype("float32")
    np.testing.assert_allclose(after, before, rtol=0.008, atol=abs(before).max() / 2**15)


@pytest.mark.parametrize("dtype", HALVES)
def test_the_penalty_of_a_narrow_prior_is_finite(dtype):
    layer = kernel(np.random.default_rng(0).normal(size=(6, 5)).astype("float32"), dtype)
    gx.graft(layer, reparam.VariationalNormal(prior_stddev=1e-3, stddev=0.02), where="kernel")
    (penalty,) = layer.losses
    base = np.asarray(layer.kernel.base.value).astype("float64")
    spread = np.log1p(np.exp(np.asarray(layer.kernel.rho.value).astype("float64")))
    ratio = spread / 1e-3
    wanted = ((ratio**2 + (base / 1e-3) ** 2 - 1) / 2 - np.log(ratio)).sum()
    np.testing.assert_allclose(float(penalty), wanted, rtol=1e-4)


@pytest.mark.broad
def test_layers_that_share_a_seeded_initializer_differ_when_stored_as_integers_as_they_do_otherwise():
    def made(*creators):
        start = initializers.RandomNormal(seed=3)
        found = []
        for _ in range(2):
            layer = layers.Dense(4, use_bias=False, kernel_initializer=start)
            layer.build((None, 3))
            for creator in creators:
                gx.graft(layer, creator, where="kernel")
            found.append(layer.kernel.numpy())
        return found

    plain = made(reparam.Int8())
    with gx.variable_creator_scope(reparam.Int8(), where="kernel"):
        stored = made()
    assert (stored[0] != stored[1]).any()
    np.testing.assert_array_equal(stored, plain)
