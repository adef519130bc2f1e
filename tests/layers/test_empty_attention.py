"""Attention over no keys gives 0, as over keys that are all masked; no queries and no rows give nothing."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.backend.registry import use

DRAW = np.random.default_rng(0)
SIZES = [(2, 3, 0), (2, 0, 3), (2, 0, 0), (0, 3, 3), (0, 3, 0)]
sizes = pytest.mark.parametrize(("rows", "queries", "keys"), SIZES)
both = pytest.mark.parametrize("backend", ["jax", "numpy"])


def draw(*shape):
    return DRAW.normal(size=shape).astype("float32")


OPTIONS = {
    "plain": lambda b, t, s: {},
    "causal": lambda b, t, s: {"is_causal": True},
    "mask": lambda b, t, s: {"mask": np.ones((b, 1, t, s), bool)},
    "bias": lambda b, t, s: {"bias": np.ones((b, 1, t, s), "float32")},
}


@both
@sizes
@pytest.mark.parametrize("heads", [2, 1])
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.in_turn(7, broad=6)
def test_the_op(backend, rows, queries, keys, heads, options):
    with use(backend):
        found = np.asarray(
            ops.dot_product_attention(
                draw(rows, queries, 2, 4),
                draw(rows, keys, heads, 4),
                draw(rows, keys, heads, 5),
                **OPTIONS[options](rows, queries, keys),
            )
        )
    assert found.shape == (rows, queries, 2, 5)
    assert found.dtype == np.float32
    assert not np.any(found) if keys == 0 else np.all(np.isfinite(found))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision(dtype):
    q, k = ops.ones((2, 3, 2, 4), dtype), ops.ones((2, 0, 2, 4), dtype)
    found = ops.dot_product_attention(q, k, k)
    assert str(found.dtype) == dtype
    assert not np.any(np.asarray(ops.cast(found, "float32")))


def test_the_kernel_of_the_library():
    q, k = draw(2, 3, 2, 4), draw(2, 0, 2, 4)
    assert not np.any(np.asarray(ops.dot_product_attention(q, k, k, implementation="xla")))


MAKE = {
    "multi head": lambda: layers.MultiHeadAttention(2, 4),
    "shared heads": lambda: layers.MultiHeadAttention(2, 4, num_key_value_heads=1),
    "dropout": lambda: layers.MultiHeadAttention(2, 4, dropout=0.5),
    "turned": lambda: layers.MultiHeadAttention(2, 4, rotary_base=10.0),
}


@sizes
@pytest.mark.parametrize(("backend", "compiles"), [("jax", False), ("jax", True), ("numpy", False)])
@pytest.mark.parametrize("name", MAKE)
@pytest.mark.in_turn(7, broad=6)
def test_layers_with_heads(backend, compiles, name, rows, queries, keys):
    layer = MAKE[name]()
    x, context = draw(rows, queries, 4), draw(rows, keys, 4)
    with use(backend):
        run = gx.jit(lambda x, context: layer(x, context, training=True)) if compiles else layer
        found = np.asarray(run(x, context))
    assert found.shape == (rows, queries, 4)
    assert not np.any(found) if keys == 0 else np.all(np.isfinite(found))


@sizes
@pytest.mark.parametrize("kind", [layers.Attention, layers.AdditiveAttention])
def test_layers_with_scores(kind, rows, queries, keys):
    out, scores = kind()([draw(rows, queries, 4), draw(rows, keys, 4)], return_attention_scores=True)
    assert out.shape == (rows, queries, 4)
    assert scores.shape == (rows, queries, keys)
    assert not np.any(np.asarray(out)) if keys == 0 else np.all(np.isfinite(np.asarray(out)))


@sizes
@pytest.mark.in_turn(5)
def test_transformers(rows, queries, keys):
    x, context = draw(rows, queries, 4), draw(rows, keys, 4)
    encoded, decoded = layers.TransformerEncoder(8, 2)(x), layers.TransformerDecoder(8, 2)(x, context)
    assert encoded.shape == decoded.shape == x.shape
    assert np.all(np.isfinite(np.asarray(encoded)))
    assert np.all(np.isfinite(np.asarray(decoded)))


def test_no_keys_are_as_good_as_keys_that_are_masked_and_so_are_the_gradients():
    layer, x = layers.MultiHeadAttention(2, 4), draw(2, 3, 4)
    layer(x)

    def gradients(context, **masks):
        loss, found = gx.value_and_grad(
            lambda: ops.sum((layer(x, context, **masks) - 1) ** 2), wrt=layer.trainable_variables
        )()
        return [np.asarray(loss), *map(np.asarray, found)]

    none = gradients(draw(2, 0, 4))
    masked = gradients(draw(2, 5, 4), value_mask=np.zeros((2, 5), bool))
    for one, other in zip(none, masked, strict=True):
        np.testing.assert_allclose(one, other)
