"""Attention layers against Keras, PyTorch and NumPy."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core.errors import ArgumentError, ShapeError

X = np.sin(np.arange(2 * 5 * 8, dtype="float32")).reshape(2, 5, 8)
CONTEXT = np.cos(np.arange(2 * 7 * 6, dtype="float32")).reshape(2, 7, 6)
MASK = np.arange(2 * 5 * 7).reshape(2, 5, 7) % 3 != 0


def test_as_in_keras(keras):
    theirs = keras.layers.MultiHeadAttention(2, 3)
    ours = layers.MultiHeadAttention(2, 3)
    ours(X, CONTEXT)
    theirs.build(X.shape, CONTEXT.shape)
    for part, dense in zip(
        ("query", "key", "value", "output"), (ours.query, ours.key, ours.value, ours.output), strict=True
    ):
        dense.bias.assign(np.linspace(-1, 1, dense.units))
        target = getattr(theirs, f"_{part}_dense")
        target.set_weights([v.numpy().reshape(w.shape) for v, w in zip(dense.variables, target.weights, strict=True)])
    np.testing.assert_allclose(ours(X, CONTEXT), theirs(X, CONTEXT), atol=2e-6)
    np.testing.assert_allclose(
        ours(X, CONTEXT, attention_mask=MASK), theirs(X, CONTEXT, attention_mask=MASK), atol=2e-6
    )
    np.testing.assert_allclose(
        ours(X, CONTEXT[:, :5], use_causal_mask=True), theirs(X, CONTEXT[:, :5], use_causal_mask=True), atol=2e-6
    )


def test_as_in_torch_with_shared_heads_and_gradients():
    torch = pytest.importorskip("torch")
    ours = layers.MultiHeadAttention(4, 2, num_key_value_heads=2, use_bias=False)
    ours(X)
    x = torch.from_numpy(X)
    kernels = [torch.from_numpy(v.numpy().copy()).requires_grad_() for v in ours.trainable_variables]
    q, k, v = ((x @ w).reshape(2, 5, h, 2).transpose(1, 2) for w, h in zip(kernels[:3], (4, 2, 2), strict=True))
    seen = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    out = seen.transpose(1, 2).reshape(2, 5, 8) @ kernels[3]
    np.testing.assert_allclose(ours(X, use_causal_mask=True), out.detach().numpy(), atol=2e-6)
    (out**2).sum().backward()
    gradients = gx.grad(lambda: ops.sum(ours(X, use_causal_mask=True) ** 2), wrt=ours.trainable_variables)()
    for mine, theirs in zip(gradients, kernels, strict=True):
        np.testing.assert_allclose(mine, theirs.grad.numpy(), atol=3e-5)


@pytest.mark.broad
@pytest.mark.parametrize("base", [None, 100.0])
def test_a_cache_gives_what_the_whole_gives(base):
    layer = layers.MultiHeadAttention(2, 4, rotary_base=base)
    whole = np.asarray(layer(X, use_causal_mask=True))

    @gx.jit
    def step(x, cache):
        return layer(x, cache=cache)

    cache, parts = layer.make_cache(batch_size=2, length=6), []
    for chunk in (X[:, :2], X[:, 2:3], X[:, 3:4], X[:, 4:]):
        out, cache = step(chunk, cache)
        parts.append(out)
    np.testing.assert_allclose(np.concatenate(parts, 1), whole, atol=2e-6)
    assert int(cache.position) == 5
    with pytest.raises(ShapeError, match="room"):
        layer(X, cache=layer.make_cache(2, 4))


@pytest.mark.broad
def test_masks_of_the_input_hide_keys():
    tokens = np.array([[1, 2, 3, 0, 0]])
    embedding, layer = layers.Embedding(5, 8, mask_zero=True), layers.MultiHeadAttention(2, 4)
    out = gx.Sequential([embedding, layer])(tokens)
    np.testing.assert_allclose(out[:, :3], layer(embedding(tokens)[:, :3]), atol=1e-6)


def test_what_sees_nothing_is_the_bias_of_the_output():
    layer = layers.MultiHeadAttention(2, 4)
    out = layer(X, attention_mask=np.zeros((2, 5, 5), bool))
    assert not np.asarray(out).any()


@pytest.mark.broad
def test_dropout_drops_weights():
    layer = layers.MultiHeadAttention(2, 4, num_key_value_heads=1, dropout=0.5, seed=3)
    still = np.asarray(layer(X, attention_mask=MASK[:, :, :5], use_causal_mask=True))
    options = {"attention_mask": MASK[:, :, :5], "use_causal_mask": True, "training": True}
    draws = np.stack([layer(X, **options) for _ in range(400)])
    assert np.abs(draws[0] - draws[1]).max() > 1e-3
    np.testing.assert_allclose(draws.mean(0), still, atol=0.15)
    layer.dropout = 1e-7
    np.testing.assert_allclose(layer(X, **options), still, atol=1e-5)


def test_the_paths_of_its_parts():
    layer = layers.MultiHeadAttention(2, 4, use_bias=False)
    layer(X)
    assert [v.path for v in layer.variables] == [f"{part}/kernel" for part in ("query", "key", "value", "output")]


@pytest.mark.broad
def test_rotary_is_a_turn_in_the_complex_plane():
    x = np.sin(np.arange(1 * 5 * 2 * 6, dtype="float32")).reshape(1, 5, 2, 6)
    speeds = 50.0 ** (-np.arange(3) / 3)
    turns = np.exp(1j * (np.arange(5)[:, None] + 2) * speeds)[:, None]
    expected = (x[..., :3] + 1j * x[..., 3:]) * turns
    out = np.asarray(layers.RotaryEmbedding(50.0)(x, start=2))
    np.testing.assert_allclose(out, np.concatenate([expected.real, expected.imag], -1), atol=2e-6)
    with pytest.raises(ShapeError, match="odd"):
        layers.RotaryEmbedding()(np.ones((1, 2, 1, 3), "float32"))


def test_errors():
    with pytest.raises(ArgumentError, match="num_key_value_heads=2"):
        layers.MultiHeadAttention(4, 2, num_key_value_heads=3)
    with pytest.raises(ShapeError, match="batch, length, size"):
        layers.MultiHeadAttention(2, 4)(X[0])
    with pytest.raises(ShapeError, match="mask"):
        layers.MultiHeadAttention(2, 4)(X, attention_mask=np.ones((2, 5, 4), bool))


@pytest.mark.parametrize("start", [1.5, np.float32(301), True, np.float16(3)])
def test_positions_are_counted(start):
    for dtype in ("float32", "bfloat16"):
        with pytest.raises(gx.errors.DTypeError, match="positions are counted"):
            layers.RotaryEmbedding(dtype=dtype)(np.ones((1, 2, 1, 2), "float32"), start=start)


@pytest.mark.broad
def test_a_cache_of_keys_values_and_position_alone():
    layer = gx.layers.MultiHeadAttention(2, 4)
    x = np.random.default_rng(0).normal(size=(2, 3, 8)).astype("float32")
    expected = layer(x, use_causal_mask=True)
    empty = layer.make_cache(2, 4)
    cache = gx.layers.AttentionCache(empty.key, empty.value, empty.position)
    out, cache = layer(x[:, :2], cache=cache)
    assert cache.visible is None
    np.testing.assert_allclose(out, expected[:, :2], atol=1e-6)
    out, cache = layer(x[:, 2:], query_mask=np.array([[True], [False]]), cache=cache)
    assert cache.visible.tolist() == [[True] * 4, [True, True, False, True]]
    np.testing.assert_allclose(out[0], expected[0, 2:], atol=1e-6)
