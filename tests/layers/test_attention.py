import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.core.errors import ArgumentTypeError
from graftax.layers.call_context import call_context

RNG = np.random.default_rng(0)
Q, V, K = (RNG.normal(size=(2, n, d)).astype("float32") for n, d in ((3, 4), (5, 6), (5, 4)))
SEEN = np.array([[True, True, False, True, False], [False, True, True, True, True]])
ASKED = np.array([[True, True, False], [True, False, True]])
KINDS = {
    "dot": (lambda: layers.Attention(True), lambda q, k, w: w[0] * q @ k.transpose(0, 2, 1)),
    "concat": (
        lambda: layers.Attention(True, "concat"),
        lambda q, k, w: w[1] * np.tanh(w[0] * (q[:, :, None] + k[:, None])).sum(-1),
    ),
    "additive": (
        lambda: layers.AdditiveAttention(),
        lambda q, k, w: (w[0] * np.tanh(q[:, :, None] + k[:, None])).sum(-1),
    ),
}


@pytest.mark.in_turn(5)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_the_formulas(kind, causal):
    make, formula = KINDS[kind]
    layer = make()
    layer.build_for([Q, V, K])
    layer.set_weights([v + 0.3 for v in layer.get_weights()])
    scores = np.exp(formula(Q, K, layer.get_weights()))
    scores = scores * SEEN[:, None] * (np.tri(3, 5) if causal else 1)
    total = scores.sum(-1, keepdims=True)
    weights = scores / np.where(total == 0, 1, total)
    hidden = [np.where(ASKED[..., None], Q, np.nan), *(np.where(SEEN[..., None], x, np.nan) for x in (V, K))]
    with call_context() as context:
        out, told = layer(hidden, mask=[ASKED, SEEN], return_attention_scores=True, use_causal_mask=causal)
        np.testing.assert_allclose(out, weights @ V * ASKED[..., None], rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(np.asarray(told)[ASKED], weights[ASKED], rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(context.mask_of(layer(hidden, mask=[ASKED, SEEN])), ASKED)


@pytest.mark.broad
def test_dropout_of_weights_is_in_training_only():
    layer = layers.Attention(dropout=0.5, seed=0)
    np.testing.assert_array_equal(layer([Q, K]), layers.Attention()([Q, K]))
    _, weights = layer([Q, K], training=True, return_attention_scores=True)
    assert (np.asarray(weights) == 0).any()


@pytest.mark.parametrize("kind", KINDS)
def test_values_are_those_of_keras(keras, kind):
    theirs = {
        "dot": lambda: keras.layers.Attention(True),
        "concat": lambda: keras.layers.Attention(True, "concat"),
        "additive": lambda: keras.layers.AdditiveAttention(),
    }[kind]()
    ours = KINDS[kind][0]()
    expected = theirs([Q, V, K], mask=[ASKED, SEEN, None], use_causal_mask=True)
    ours.build_for([Q, V, K])
    for v in theirs.weights:
        ours.named_variables()[v.name].assign(np.asarray(v.value))
    out = ours([Q, V, K], mask=[ASKED, SEEN], use_causal_mask=True)
    sees = (SEEN[:, None] & np.tri(3, 5, dtype=bool)).any(-1)  # where nothing is seen, ours is 0
    np.testing.assert_allclose(np.asarray(out)[sees], np.asarray(expected)[sees], rtol=1e-4, atol=1e-5)


def test_one_array_is_answered_with_two():
    x = np.ones((2, 5, 4), "float32")
    for call in (lambda layer: layer(x), lambda layer: layer(x, x)):
        with pytest.raises(ArgumentTypeError, match=r"one array of shape \(2, 5, 4\)(.|\n)*attention\(\[x, x\]\)"):
            call(layers.Attention())


@pytest.mark.broad
def test_bad_input_is_refused():
    for inputs in (Q, [Q], [Q, V, K, K]):
        with pytest.raises(gx.errors.ArgumentTypeError, match="a query and values"):
            layers.Attention()(inputs)
    with pytest.raises(gx.errors.ShapeError, match="a query of shape"):
        layers.Attention()([Q, V])
    with pytest.raises(gx.errors.ShapeError, match="mask of the value of shape"):
        layers.Attention()([Q, K], mask=[None, SEEN[:, :2]])
    with pytest.raises(gx.errors.ArgumentError, match="score_mode="):
        layers.Attention(score_mode="sum")
    with pytest.raises(gx.errors.ArgumentError, match="dropout="):
        layers.AdditiveAttention(dropout=2)


@pytest.mark.broad
@pytest.mark.parametrize("kind", [layers.Attention, layers.AdditiveAttention])
def test_integers_are_weighed_as_numbers_are(kind):
    x = np.array([[[0, 1], [2, 3], [1, 1]]], "int32")
    layer = kind(use_scale=False)
    np.testing.assert_allclose(layer([x, x]), layer([x.astype("float32")] * 2), rtol=1e-6)
