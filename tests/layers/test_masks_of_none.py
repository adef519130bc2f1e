"""``mask=None`` in a call: the mask of the array counts, as without it; nothing is said of one that is dropped."""

import warnings

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
    "function": lambda: L.Lambda(lambda x, mask=None: x if mask is None else x * 0, mask=lambda x, mask: mask),
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


@pytest.mark.in_turn(12, broad=7)
@pytest.mark.parametrize(("kind", "mode"), crossed([*KINDS], ["eager", "compiled"]))
def test_what_is_computed_is_what_it_is_without(kind, mode):
    gx.set_random_seed(0)
    layer = KINDS[kind]()
    x = L.Embedding(5, 3, mask_zero=True)(TOKENS)
    layer(ops.array(x))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of masks that are dropped
        expected = layer(x)
    layer.__dict__.pop("_gx_warned", None)
    said = {"x_mask" if kind == "by the name of the argument" else "mask": None}
    run = layer if mode == "eager" else gx.jit(lambda x, **said: layer(x, **said))
    out = run(x, **said)  # a warning would be an error
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_equal(*(None if m is None else np.asarray(m) for m in map(masks.mask_of, (out, expected))))
    assert masks.mask_of(x) is not None  # that of the caller stays


class HandingOn(gx.Model):
    """Makes a mask, and hands on to the layer after it another one, which came from outside or did not."""

    def __init__(self):
        super().__init__()
        self.embedding, self.lstm = L.Embedding(5, 3, mask_zero=True), L.LSTM(2)

    def call(self, tokens, mask=None):
        return self.lstm(self.embedding(tokens), mask=mask)


@pytest.mark.broad
def test_none_that_is_only_handed_on_loses_no_mask():
    model = HandingOn()
    expected = model.lstm(model.embedding(TOKENS))
    for out in (model(TOKENS), model(TOKENS, mask=None), model(TOKENS, mask=TOKENS != 0), gx.jit(model)(TOKENS)):
        np.testing.assert_allclose(out, expected, atol=1e-6)


def test_a_mask_is_told_of_when_it_is_dropped_without_a_word():
    x = L.Embedding(5, 3, mask_zero=True)(TOKENS)
    for layer in (Plain(), Taking(), Open()):
        layer(x, mask=None)
        with pytest.warns(UserWarning, match="is dropped"):
            layer(x)
