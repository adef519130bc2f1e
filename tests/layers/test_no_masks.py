"""``mask=None`` in a call: the layer gets no mask, its result has none, and nothing is said of one that is dropped."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.variables import masks
from tests.conformance.lanes import crossed

L = layers
TOKENS = np.array([[1, 2, 0, 0], [1, 2, 3, 0]])


class Plain(gx.Layer):
    def call(self, x):
        return x * 2


class Same(gx.Layer):
    def call(self, x):
        return x


class Taking(gx.Layer):
    """Takes a mask, and does not say what becomes of it."""

    def call(self, x, mask=None):
        return x * 2 if mask is None else ops.where(mask[..., None], x, 0)


class Making(gx.Layer):
    def call(self, x, mask=None):
        return x * 2 if mask is None else ops.where(mask[..., None], x, 0)

    def compute_mask(self, inputs, mask):
        return masks.mask_of(inputs) if mask is None else mask


class Open(gx.Layer):
    def call(self, x, **options):
        return x * 2 if options.get("mask") is None else ops.where(options["mask"][..., None], x, 0)


class Many(gx.Layer):
    def call(self, *inputs, mask=None):
        return sum(inputs) if mask is None else inputs[0] * 0


class ByName(gx.Layer):
    def call(self, x, x_mask=None):
        return x * 2 if x_mask is None else x * 0


class Around(gx.Layer):
    """A layer around others, which says nothing of masks."""

    def __init__(self):
        super().__init__()
        self.inner = L.LSTM(2, return_sequences=True)

    def call(self, x):
        return self.inner(x)


class AroundTaking(Around):
    def call(self, x, mask=None):
        return self.inner(x, mask=mask)


class AroundSilent(Around):
    """Takes a mask for itself; what is inside finds that of the array."""

    def call(self, x, mask=None):
        return self.inner(x)


def graph():
    entry = gx.Input((4, 3))
    return gx.Model(entry, L.LSTM(2)(L.Dense(3)(entry)))


KINDS = {
    "plain": Plain,
    "the input itself": Same,
    "takes a mask": Taking,
    "computes a mask": Making,
    "takes anything": Open,
    "several inputs": Many,
    "by the name of the argument": ByName,
    "around another": Around,
    "around another, hands it on": AroundTaking,
    "around another, takes one": AroundSilent,
    "function": lambda: L.Lambda(lambda x, mask=None: x if mask is None else x * 0),
    "Dense": lambda: L.Dense(2),
    "Dropout": lambda: L.Dropout(0.5),
    "Conv1D": lambda: L.Conv1D(2, 2),
    "LSTM": lambda: L.LSTM(2),
    "LSTM of sequences": lambda: L.LSTM(2, return_sequences=True),
    "Bidirectional": lambda: L.Bidirectional(L.GRU(2)),
    "RNN": lambda: L.RNN(L.GRUCell(2)),
    "pooling": lambda: L.GlobalAveragePooling1D(),
    "BatchNormalization": lambda: L.BatchNormalization(),
    "attention": lambda: L.MultiHeadAttention(1, 2),
    "encoder": lambda: L.TransformerEncoder(4, 1),
    "TimeDistributed": lambda: L.TimeDistributed(L.Dense(2)),
    "Sequential": lambda: gx.Sequential([L.Dense(2), L.LSTM(2)]),
    "graph": graph,
}


@pytest.mark.parametrize(("kind", "mode"), crossed([*KINDS], ["eager", "compiled"]))
def test_a_layer_that_is_told_so_gets_none(kind, mode):
    gx.set_random_seed(0)
    layer = KINDS[kind]()
    x = L.Embedding(5, 3, mask_zero=True)(TOKENS)
    bare = ops.array(x)
    expected = layer(bare)
    run = layer if mode == "eager" else gx.jit(lambda x, mask: layer(x, mask=mask))
    out = run(x, mask=None)  # a warning would be an error
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-6)
    assert masks.mask_of(out) is None
    assert masks.mask_of(x) is not None  # that of the caller stays


@pytest.mark.parametrize("mask", [None, [None, None]], ids=str)
def test_none_for_each_of_several_arrays(mask):
    x = L.Embedding(5, 3, mask_zero=True)(TOKENS)
    assert masks.mask_of(L.Add()([x, x], mask=mask)) is None
    hidden = np.asarray(masks.mask_of(x))[:, ::-1]
    np.testing.assert_array_equal(masks.mask_of(L.Add()([x, x], mask=[None, hidden])), hidden)


def test_one_argument_of_an_attention():
    gx.set_random_seed(0)
    layer, x = L.MultiHeadAttention(1, 2), L.Embedding(5, 3, mask_zero=True)(TOKENS)
    bare = ops.array(x)
    expected = layer(bare, bare)
    for said in ({"value_mask": None}, {"mask": None}):
        out = layer(x, x, **said)
        np.testing.assert_allclose(out, expected, atol=1e-6)
        assert masks.mask_of(out) is not None  # that of the query
    out = layer(x, x, query_mask=None)
    np.testing.assert_allclose(out, layer(bare, x), atol=1e-6)
    assert masks.mask_of(out) is None


def test_none_in_a_sequence_of_layers():
    entry = gx.Input((4,), dtype="int32")
    gx.set_random_seed(0)
    embedding, lstm = L.Embedding(5, 3, mask_zero=True), L.LSTM(2)
    model = gx.Model(entry, lstm(embedding(entry), mask=None))
    np.testing.assert_allclose(model(TOKENS), lstm(ops.array(embedding(TOKENS))), atol=1e-6)

    class Steps(gx.Model):
        def __init__(self, return_sequences):
            super().__init__()
            self.embedding, self.lstm = embedding, L.LSTM(2, return_sequences=return_sequences)

        def call(self, tokens):
            return self.lstm(self.embedding(tokens), mask=None)

    for return_sequences in (False, True):
        assert masks.mask_of(Steps(return_sequences)(TOKENS)) is None  # and no word of a mask that got lost


class HandingOn(gx.Model):
    """Makes a mask, and hands on to the layer after it another one, which came from outside or did not."""

    def __init__(self):
        super().__init__()
        self.embedding, self.lstm = L.Embedding(5, 3, mask_zero=True), L.LSTM(2)

    def call(self, tokens, mask=None):
        return self.lstm(self.embedding(tokens), mask=mask)


def test_none_that_is_only_handed_on_is_told():
    model = HandingOn()
    with pytest.warns(UserWarning, match=r"'lstm' \(LSTM\) got mask=None(.|\n)*'handing_on'(.|\n)*self.lstm\(x\)"):
        model(TOKENS)
    model(TOKENS)  # told once
    HandingOn()(TOKENS, mask=None)  # meant
    HandingOn()(TOKENS, mask=TOKENS != 0)
