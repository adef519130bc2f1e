import itertools

import numpy as np
import pytest

import graftax as gx
from graftax import layers

RNG = np.random.default_rng(0)
X, C = RNG.normal(size=(2, 5, 8)).astype("float32"), RNG.normal(size=(2, 7, 6)).astype("float32")
SHOWN = np.array([[True] * 5, [True] * 3 + [False] * 2])


@pytest.mark.parametrize("first", [False, True])
def test_an_encoder_is_its_parts(first):
    block = layers.TransformerEncoder(16, 2, normalize_first=first)
    out = block(X, mask=SHOWN)
    a, n, m = block.self_attention, block.self_attention_norm, block.feedforward_norm

    def network(x):
        return block.feedforward_output(gx.activations.relu(block.feedforward_intermediate(x)))

    if first:
        h = X + a(n(X), value_mask=SHOWN)
        expected = h + network(m(h))
    else:
        h = n(X + a(X, value_mask=SHOWN))
        expected = m(h + network(h))
    np.testing.assert_allclose(np.asarray(out)[SHOWN], np.asarray(expected)[SHOWN], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(block(X[1:, :3])[0], out[1, :3], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("first", [False, True])
def test_values_are_those_of_torch(torch, first):
    theirs = torch.nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True, norm_first=first)
    ours = layers.TransformerEncoder(16, 2, normalize_first=first)
    ours.build_for(X)
    p = {name: value.detach().numpy() for name, value in theirs.named_parameters()}
    w, b = np.split(p["self_attn.in_proj_weight"], 3), np.split(p["self_attn.in_proj_bias"], 3)
    values = {"self_attention/output": (p["self_attn.out_proj.weight"], p["self_attn.out_proj.bias"])}
    values |= {f"self_attention/{name}": (w[i], b[i]) for i, name in enumerate(("query", "key", "value"))}
    values["feedforward_intermediate"] = p["linear1.weight"], p["linear1.bias"]
    values["feedforward_output"] = p["linear2.weight"], p["linear2.bias"]
    for path, (kernel, bias) in values.items():
        ours.named_variables()[f"{path}/kernel"].assign(kernel.T)
        ours.named_variables()[f"{path}/bias"].assign(bias)
    for mask in (None, SHOWN):
        hidden = None if mask is None else torch.tensor(~mask)
        expected = theirs.train()(torch.tensor(X), src_key_padding_mask=hidden).detach().numpy()
        shown = np.ones((2, 5), bool) if mask is None else mask
        np.testing.assert_allclose(np.asarray(ours(X, mask=mask))[shown], expected[shown], rtol=1e-3, atol=1e-4)


@pytest.mark.broad
@pytest.mark.parametrize("first", [False, True])
def test_a_decoder_sees_the_past_and_the_context(first):
    block = layers.TransformerDecoder(16, 2, normalize_first=first)
    out = np.asarray(block(X, C))
    later = X.copy()
    later[:, 3:] += 1
    np.testing.assert_allclose(np.asarray(block(later, C))[:, :3], out[:, :3], rtol=1e-5, atol=1e-6)
    assert not np.allclose(block(X, C + 1), out, atol=1e-3)
    hidden = np.where(np.arange(7)[:, None] < 5, C, np.nan)
    seen = block(X, hidden, context_mask=np.broadcast_to(np.arange(7) < 5, (2, 7)))
    np.testing.assert_allclose(seen, block(X, C[:, :5]), rtol=1e-4, atol=1e-5)
    assert not np.allclose(block(X, C, use_causal_mask=False), out, atol=1e-3)


@pytest.mark.broad
@pytest.mark.parametrize("rotary", [None, 100.0])
def test_a_decoder_step_by_step_with_a_cache(rotary):
    for context in (None, C):
        block = layers.TransformerDecoder(16, 2, num_key_value_heads=1, rotary_base=rotary)
        expected = block(X, context)
        cache = block.make_cache(2, 5)
        assert isinstance(cache, layers.AttentionCache)
        step = gx.jit(lambda x, cache, block=block, context=context: block(x, context, cache=cache))
        outs = []
        for t in range(5):
            out, cache = step(X[:, t : t + 1], cache)
            outs.append(np.asarray(out))
        np.testing.assert_allclose(np.concatenate(outs, 1), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.broad
@pytest.mark.parametrize("rotary", [pytest.param(None, marks=pytest.mark.slow), 100.0])
def test_positions_added_to_a_cache_see_each_other_where_asked(rotary):
    block = layers.TransformerDecoder(16, 2, rotary_base=rotary)
    whole = np.asarray(block(X, use_causal_mask=False))
    out, _ = block(X, use_causal_mask=False, cache=block.make_cache(2, 7))
    np.testing.assert_allclose(out, whole, rtol=1e-4, atol=1e-5)
    causal, _ = block(X, cache=block.make_cache(2, 7))
    assert not np.allclose(causal, whole, atol=1e-3)
    more, attention = X[:, :2] + 1, block.self_attention  # a prefix of five, and two that see it and each other
    seen = np.concatenate([X, more], 1)
    pairs = np.arange(7)[:, None] >= np.where(np.arange(7) < 5, 0, 5)
    _, filled = attention(X, use_causal_mask=False, cache=attention.make_cache(2, 7))
    for flag, allowed in ((False, pairs), (True, np.tri(7, dtype=bool) | (np.arange(7) < 5))):
        added, _ = gx.jit(lambda x, c, flag=flag: attention(x, use_causal_mask=flag, cache=c))(more, filled)
        np.testing.assert_allclose(
            added, np.asarray(attention(seen, attention_mask=allowed))[:, 5:], rtol=1e-4, atol=1e-5
        )


@pytest.mark.broad
def test_dropout_is_in_training_only():
    block = layers.TransformerEncoder(16, 2, dropout=0.5)
    np.testing.assert_array_equal(block(X), block(X))
    assert not np.allclose(block(X), block(X, training=True))


def test_bad_input_is_refused():
    for options, message in (
        ({"intermediate_dim": 0}, "intermediate_dim=0"),
        ({"dropout": 2}, "dropout=2"),
        ({"num_key_value_heads": 3}, "num_key_value_heads=3"),
        ({"activation": "rulu"}, "rulu"),
        ({"layer_norm_epsilon": -1}, "layer_norm_epsilon=-1"),
    ):
        with pytest.raises(gx.errors.ArgumentError, match=message):
            layers.TransformerEncoder(**{"intermediate_dim": 8, "num_heads": 2, **options})
    with pytest.raises(gx.errors.ShapeError, match=r"8 features, num_heads=3(.|\n)*num_heads=2"):
        layers.TransformerEncoder(8, 3)(X)
    block = layers.TransformerDecoder(8, 2)
    with pytest.raises(gx.errors.NotBuiltError):
        block.make_cache(1, 1)
    block(X)
    with pytest.raises(gx.errors.ArgumentTypeError, match="the first call had none"):
        block(X, C)
    with pytest.raises(gx.errors.ShapeError, match="was made for 8 features"):
        block(X[..., :4])


@pytest.mark.broad
def test_the_dropouts_of_a_block_with_a_seed_draw_apart():
    block, x = layers.TransformerDecoder(8, 2, dropout=0.5, seed=3), np.ones((2, 16, 8), "float32")
    block(x, x)
    names = ("self_attention_dropout", "cross_attention_dropout", "feedforward_dropout")
    drawn = [np.asarray(getattr(block, name)(x, training=True)) for name in names]
    assert all((one != other).any() for one, other in itertools.combinations(drawn, 2))
    again = layers.TransformerDecoder(8, 2, dropout=0.5, seed=3)
    again(x, x)
    np.testing.assert_array_equal(again.feedforward_dropout(x, training=True), drawn[2])
