"""implementation= of attention: the kernels of the library give what the formula gives, or are refused."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core.errors import ArgumentError, BackendCapabilityError, ShapeError

DRAW = np.random.default_rng(0)
Q, K, V = (DRAW.normal(size=(2, n, heads, 8)).astype("float32") for n, heads in ((5, 4), (7, 2), (7, 2)))
MASK = DRAW.random((2, 1, 5, 7)) < 0.6
MASK[0, 0, 2] = False
OPTIONS = {
    "plain": {},
    "causal": {"is_causal": True},
    "masked": {"mask": MASK},
    "masked, causal": {"mask": MASK[:1, 0], "is_causal": True},
    "biased": {"bias": DRAW.normal(size=(4, 5, 7)).astype("float32"), "scale": 0.2},
}


@pytest.mark.in_turn(5)
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
def test_xla_gives_what_the_formula_gives(options):
    found = ops.dot_product_attention(Q, K, V, implementation="xla", **options)
    np.testing.assert_allclose(found, ops.dot_product_attention(Q, K, V, **options), atol=1e-5)


@pytest.mark.slow
def test_a_layer_with_masks_cache_and_gradient():
    x, mask = DRAW.normal(size=(2, 6, 8)).astype("float32"), np.array([[1] * 6, [1, 1, 0, 0, 0, 0]], bool)
    plain = layers.MultiHeadAttention(2, 4, rotary_base=1e4)
    other = layers.MultiHeadAttention(2, 4, rotary_base=1e4, implementation="xla")
    plain(x), other(x)
    for a, b in zip(other.variables, plain.variables, strict=True):
        a.assign(b)

    def gradient(layer):
        return gx.grad(lambda x: ops.sum(layer(x, use_causal_mask=True, query_mask=mask) ** 3))(ops.asarray(x))

    np.testing.assert_allclose(gradient(other), gradient(plain), atol=1e-4)
    caches = [layer.make_cache(2, 6) for layer in (plain, other)]
    for i in range(0, 6, 2):
        outs = [layer(x[:, i : i + 2], cache=cache) for layer, cache in zip((plain, other), caches, strict=True)]
        np.testing.assert_allclose(outs[0][0], outs[1][0], atol=1e-5)
        caches = [cache for _, cache in outs]


@pytest.mark.skipif("__import__('jax').default_backend() == 'gpu'", reason="there is such a kernel")
def test_a_kernel_for_gpus_is_refused_where_there_is_none():
    with pytest.raises(BackendCapabilityError) as found:
        layers.MultiHeadAttention(2, 4, implementation="cudnn")(np.ones((1, 3, 8), "float32"))
    assert "implementation=None, which runs everywhere" in str(found.value)


def test_what_no_kernel_can_do_is_refused():
    with pytest.raises(ArgumentError, match="implementation='flash'"):
        layers.MultiHeadAttention(2, 4, implementation="flash")
    with pytest.raises(ArgumentError, match="could be dropped"):
        layers.MultiHeadAttention(2, 4, implementation="xla", dropout=0.1)
    with pytest.raises(ShapeError, match="values of one size"):
        ops.dot_product_attention(Q, K, V[..., :4], implementation="xla")
    with gx.backend.use("numpy"), pytest.raises(BackendCapabilityError, match="no kernels"):
        ops.dot_product_attention(Q, K, V, implementation="xla")
    with pytest.raises(TypeError, match="implementation"):
        layers.MultiHeadAttention(2, 4, flash_attention=True)


@pytest.mark.broad
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_weights_that_are_dropped_come_from_wide_products_too(dtype):
    # products of queries and keys go up to 230,000 here: infinite in float16, and no two close ones differ in bfloat16
    x = (np.random.default_rng(0).normal(size=(1, 4, 8)) * 0.1 + 30).astype("float32")
    layer = layers.MultiHeadAttention(1, 64, dropout=1e-9, dtype=dtype, kernel_initializer="ones")
    plain = layers.MultiHeadAttention(1, 64, dtype=dtype, kernel_initializer="ones")
    for one in (layer, plain):
        one.build_for(x)
        one.output.kernel.assign(ops.full((64, 8), 1e-3, dtype))
    with gx.run_eagerly():
        found = layer(x.astype(dtype), training=True)
    np.testing.assert_allclose(found.astype("float32"), plain(x.astype(dtype)).astype("float32"), rtol=2e-3)
