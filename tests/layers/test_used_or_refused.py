"""What is given to a layer is used or refused: no size of 1 is broadcast, and no argument dropped."""

from contextlib import suppress

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.core.errors import ArgumentError, ArgumentTypeError, GraftaxError, ShapeError
from tests.conformance.layer_rows import ROWS
from tests.conformance.test_layers import example

L = layers
RNG = np.random.default_rng(0)


def some(*shape):
    return RNG.normal(size=shape).astype("float32")


def built(layer, *inputs):
    layer(*inputs)
    return layer


X = some(2, 3, 4)
SEEN = np.array([[True, True, False]] * 2)


# --- sizes ------------------------------------------------------------------------------------------------------------

BROADCAST = {
    "einsum_bias_of_more": lambda: built(L.EinsumDense("abc,cd->abd", (None, 2), bias_axes="bd"), X)(some(2, 1, 4)),
    "einsum_bias_of_one": lambda: built(L.EinsumDense("abc,cd->abd", (None, 2), bias_axes="bd"), some(2, 1, 4))(X),
    "einsum_output_shape": lambda: built(L.EinsumDense("abc,cd->abd", (3, 2)), X)(some(2, 5, 4)),
    "rescaling_of_more_channels": lambda: L.Rescaling([1.0, 2.0, 3.0])(some(2, 5, 1)),
    "rescaling_offset_of_more_axes": lambda: L.Rescaling(2.0, offset=np.ones((2, 1, 4)))(some(3, 4)),
    "attention_query_of_one": lambda: L.Attention()([X[:1], X]),
    "attention_value_of_one": lambda: L.Attention()([X, X[:1]]),
    "attention_key_of_one": lambda: L.AdditiveAttention()([X, X, X[:1]]),
    "additive_attention_of_more_features": lambda: built(L.AdditiveAttention(), [X[..., :1]] * 2)([X, X]),
    "additive_attention_of_one_feature": lambda: built(L.AdditiveAttention(), [X, X])([X[..., :1]] * 2),
    "heads_value_of_one_sequence": lambda: L.MultiHeadAttention(2, 2, dropout=0.5)(X, X[:1], training=True),
    "heads_key_of_one_step": lambda: L.MultiHeadAttention(2, 2, dropout=0.5)(X, X, X[:, :1], training=True),
    "heads_value_of_one_step": lambda: L.MultiHeadAttention(2, 2)(X, X[:, :1], X),
    "prelu_of_more_channels": lambda: built(L.PReLU(), some(2, 3, 1))(X),
    "directions_of_other_units": lambda: L.Bidirectional(L.GRU(3), "sum", L.GRU(1, go_backwards=True))(X),
    "mask_of_features_of_experts": lambda: L.MixtureOfExperts(3, 4)(X, mask=np.ones(X.shape, bool)),
    "one_state_of_images": lambda: L.ConvLSTM2D(2, 2)(some(1, 2, 4, 4, 1), initial_state=some(1, 3, 3, 2)),
}


@pytest.mark.parametrize("case", BROADCAST)
def test_sizes_that_would_be_broadcast_are_refused(case):
    with pytest.raises(ShapeError) as caught:
        BROADCAST[case]()
    assert caught.value.instead


@pytest.mark.broad
def test_sizes_that_fit_are_taken():
    layer = L.EinsumDense("abc,cd->abd", (None, 2), bias_axes="d")
    assert built(layer, X)(some(5, 7, 4)).shape == (5, 7, 2)  # of the axes without weights any size
    assert L.Rescaling([1.0, 2.0, 3.0])(some(2, 5, 3)).shape == (2, 5, 3)
    assert L.Rescaling(np.ones((3, 1)))(X).shape == X.shape
    assert built(L.PReLU(shared_axes=1), X)(some(2, 9, 4)).shape == (2, 9, 4)
    assert L.Bidirectional(L.GRU(3), "concat", L.GRU(1, go_backwards=True))(X).shape == (2, 4)


# --- arguments --------------------------------------------------------------------------------------------------------

UNUSED = {
    "context_mask": (
        lambda: L.TransformerDecoder(4, 2)(X, context_mask=SEEN),
        "context_mask=, and no sequence to look at",
    ),
    "one_mask": (lambda: L.Attention()([X, X], mask=SEEN), "one mask for 2 arrays"),
    "bias_initializer": (
        lambda: L.EinsumDense("ab,bc->ac", 2, bias_initializer="ones"),
        "bias_axes=None and bias_initializer=",
    ),
    "bias_axis_twice": (lambda: L.EinsumDense("ab,bc->ac", 2, bias_axes="cc"), "bias_axes='cc'"),
    "value_range": (lambda: L.RandomErasing(fill_value=0.0, value_range=(0, 1)), "value_range=(0, 1)"),
    "oov_token": (lambda: L.StringLookup(num_oov_indices=0, oov_token="?"), "num_oov_indices=0, oov_token='?'"),
    "ngrams_of_no_words": (lambda: L.TextVectorization(split=None, ngrams=2), "split=None, ngrams=2"),
    "no_ngrams": (lambda: L.TextVectorization(ngrams=()), "ngrams=()"),
    "ngrams_twice": (lambda: L.TextVectorization(ngrams=(2, 2)), "ngrams=(2, 2)"),
    "mask_of_lambda": (lambda: L.Lambda(abs, mask=3), "mask=3"),
    "attention_seed": (lambda: L.Attention(seed=-1), "seed=-1"),
    "block_seed": (lambda: L.TransformerEncoder(4, 2, seed="a"), "seed='a'"),
}


@pytest.mark.parametrize("case", UNUSED)
def test_arguments_that_nothing_would_use_are_refused(case):
    make, received = UNUSED[case]
    with pytest.raises((ArgumentError, ArgumentTypeError)) as caught:
        make()
    assert received in caught.value.received
    assert caught.value.reason
    assert caught.value.instead


@pytest.mark.broad
def test_after_a_first_call_that_is_refused_the_line_of_the_message_works():
    block = L.TransformerDecoder(4, 2)
    with pytest.raises(ArgumentTypeError, match="no sequence to look at"):
        block(X, context_mask=SEEN)
    block(X, X, context_mask=SEEN)
    block = L.TransformerDecoder(4, 2)
    block(X, context_mask=None)
    with pytest.raises(ArgumentTypeError, match="no sequence to look at"):
        block(X, context_mask=SEEN)


@pytest.mark.broad
def test_the_same_arguments_are_taken_where_they_are_used():
    block = L.TransformerDecoder(4, 2)
    block(X, X)
    assert not np.array_equal(block(X, X, context_mask=SEEN), block(X, X))
    assert L.RandomErasing(value_range=(0, 1)).value_range == (0, 1)
    assert L.RandomErasing(fill_value=0.0, value_range=(0, 255)).fill_value == 0
    assert L.TextVectorization(split=None, ngrams=1, vocabulary=["a b"])(["a b"]).tolist() == [[2]]
    assert L.TransformerEncoder(4, 2, dropout=0.5, seed=2**64 - 1)(X).shape == X.shape  # a seed for each part


def test_without_a_place_for_unknown_tokens_their_token_is_one_like_others():
    layer = L.StringLookup(num_oov_indices=0, vocabulary=["[UNK]", "a"])
    assert layer(["a", "[UNK]"]).tolist() == [1, 0]
    layer = L.IntegerLookup(num_oov_indices=0)
    layer.adapt([-1, -1, 5])
    assert layer.get_vocabulary() == [-1, 5]


@pytest.mark.references
def test_that_vocabulary_is_that_of_keras(keras):
    ours, theirs = (one.StringLookup(num_oov_indices=0, vocabulary=["[UNK]", "a"]) for one in (layers, keras.layers))
    assert ours.get_vocabulary() == list(map(str, theirs.get_vocabulary()))


@pytest.mark.broad
@pytest.mark.parametrize(("make", "name"), [(L.MixUp, "alpha"), (L.CutMix, "factor")])
def test_the_strength_of_mixing_may_change_later(make, name):
    data = {"images": some(6, 4, 4, 1), "labels": np.eye(6, dtype="float32")}
    late = make(0.2, seed=1)
    setattr(late, name, 5.0)
    expected = make(5.0, seed=1)(data, training=True)
    np.testing.assert_array_equal(late(data, training=True)["labels"], expected["labels"])
    assert not np.array_equal(make(0.2, seed=1)(data, training=True)["labels"], expected["labels"])


# --- what is no array -------------------------------------------------------------------------------------------------


@pytest.mark.broad
@pytest.mark.in_turn(2)
@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if not isinstance(row.inputs, list)])
def test_later_inputs_that_are_no_such_array_are_refused(name):
    row, x = ROWS[name], example(ROWS[name])
    layer = built(row.make(), x)
    if isinstance(layer, L.Lambda):  # whose function may take anything
        return
    for other in ([x], {"a": x}, None, "abc"):
        with pytest.raises(GraftaxError) as caught:
            layer(other)
        assert caught.value.instead
    with suppress(GraftaxError):  # any number of axes may do, but no other error may come
        layer(x[None][None])


@pytest.mark.parametrize("make", [lambda: L.Resizing(2, 2), lambda: L.CenterCrop(2, 2)])
def test_first_inputs_that_are_no_arrays(make):
    for other in ([some(1, 4, 4, 1)], None, {"a": X}):
        with pytest.raises(ArgumentTypeError, match="in place of an array"):
            make()(other)


@pytest.mark.broad
def test_a_block_gets_the_masks_of_a_dot():
    """Scores of queries and keys: hidden keys get no share."""
    query, key = gx.Input((3, 4)), gx.Input((5, 4))
    scores = L.Dot(2)([L.Masking()(query), L.Masking()(key)])
    model = gx.Model([query, key], L.Softmax()(scores))
    keys = some(2, 5, 4)
    keys[:, 3:] = 0
    found = np.asarray(model([X, keys]))
    assert (found[..., 3:] == 0).all()
    np.testing.assert_allclose(found.sum(-1), 1, rtol=1e-5)
