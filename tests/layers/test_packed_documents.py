"""Several documents in one row of a decoder: an attention mask keeps them apart, as if each came alone."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers

RNG = np.random.default_rng(1)
X, C = RNG.normal(size=(2, 7, 8)).astype("float32"), RNG.normal(size=(2, 4, 6)).astype("float32")
DOCUMENTS = np.array([[0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 1, 2, 2]])
PAIRS = DOCUMENTS[:, :, None] == DOCUMENTS[:, None, :]


def alone(block, row, number, context, mask=None, **options):
    at = DOCUMENTS[row] == number
    beside = () if context is None else (context[row : row + 1],)
    shown = None if mask is None else mask[row : row + 1, at]
    return at, np.asarray(block(X[row : row + 1, at], *beside, mask=shown, **options))[0]


@pytest.mark.broad
@pytest.mark.in_turn(3)
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(("rotary", "first"), [(None, False), (100.0, True)])
@pytest.mark.parametrize("context", [None, C], ids=["alone", "context"])
def test_documents_in_a_row_are_as_alone(context, rotary, first, causal):
    block = layers.TransformerDecoder(16, 2, rotary_base=rotary, normalize_first=first)
    out = np.asarray(block(X, context, use_causal_mask=causal, attention_mask=PAIRS))
    for row, documents in enumerate(DOCUMENTS):
        for number in set(documents):
            at, expected = alone(block, row, number, context, use_causal_mask=causal)
            np.testing.assert_allclose(out[row, at], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.broad
def test_padding_is_hidden_beside():
    block, mask = layers.TransformerDecoder(16, 2), np.ones((2, 7), bool)
    mask[1, 1] = mask[1, 6] = False
    out = np.asarray(block(np.where(mask[..., None], X, np.nan), mask=mask, attention_mask=PAIRS))
    for row, documents in enumerate(DOCUMENTS):
        for number in set(documents):
            at, expected = alone(block, row, number, None, mask)
            shown = mask[row, at]
            np.testing.assert_allclose(out[row, at][shown], expected[shown], rtol=1e-4, atol=1e-5)


@pytest.mark.broad
def test_documents_in_a_cache():
    block = layers.TransformerDecoder(16, 2, rotary_base=100.0)
    expected = np.asarray(block(X, attention_mask=PAIRS))
    cache, outs = block.make_cache(2, 7), []
    for t in range(7):
        out, cache = block(X[:, t : t + 1], cache=cache, attention_mask=PAIRS[:, t : t + 1])
        outs.append(np.asarray(out))
    np.testing.assert_allclose(np.concatenate(outs, 1), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.broad
def test_a_language_model_over_packed_rows_is_trained_as_over_single_ones():
    tokens, place = gx.Input((None,), dtype="int32"), gx.Input((None,), dtype="int32")
    pairs = gx.ops.equal(place[:, :, None], place[:, None, :])
    h = layers.TransformerDecoder(16, 2, rotary_base=100.0)(layers.Embedding(9, 8)(tokens), attention_mask=pairs)
    model = gx.Model([tokens, place], layers.Dense(9)(h))
    ids = RNG.integers(0, 9, (2, 7)).astype("int32")
    out = np.asarray(model([ids, DOCUMENTS.astype("int32")]))
    single = np.asarray(model([ids[:1, 3:], np.zeros((1, 4), "int32")]))
    np.testing.assert_allclose(out[:1, 3:], single, rtol=1e-4, atol=1e-5)
    model.compile("sgd", gx.losses.SparseCategoricalCrossentropy(from_logits=True))
    assert np.isfinite(model.fit([ids, DOCUMENTS.astype("int32")], ids, verbose=0).history["loss"]).all()


@pytest.mark.parametrize("kind", [layers.TransformerEncoder, layers.TransformerDecoder])
def test_a_mask_of_pairs_as_mask_is_refused(kind):
    with pytest.raises(gx.errors.ShapeError, match=r"(?s)mask of shape \(2, 7, 7\).*\(2, 7\).*attention_mask="):
        kind(16, 2)(X, mask=PAIRS)
