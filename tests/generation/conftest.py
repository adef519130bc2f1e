"""Small models that generate, and the same by plain loops."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops


class Chain:
    """A recurrent net in a few lines: its next token depends on all before."""

    def __init__(self, vocabulary=5, size=6, seed=0):
        draw = np.random.default_rng(seed)
        self.vocabulary = vocabulary
        self.table, self.inner, self.head = (
            draw.normal(size=sizes).astype("float32")
            for sizes in ((vocabulary, size), (size, size), (size, vocabulary))
        )

    def cache(self, batch):
        return {"state": np.zeros((batch, self.inner.shape[0]), "float32"), "count": np.int32(0)}

    def step(self, tokens, cache):
        state = cache["state"]
        for i in range(tokens.shape[1]):
            state = ops.tanh(ops.matmul(state, self.inner) + ops.take(self.table, tokens[:, i], axis=0))
        return ops.matmul(state, self.head) * 2.0, {"state": state, "count": cache["count"] + tokens.shape[1]}

    def log_probabilities(self, tokens):
        """Those of what follows one row of tokens, in NumPy."""
        state = np.zeros(self.inner.shape[0], "float32")
        for token in tokens:
            state = np.tanh(state @ self.inner + self.table[token])
        logits = (state @ self.head * 2.0).astype("float64")
        return logits - np.log(np.exp(logits - logits.max()).sum()) - logits.max()


class Decoder(gx.Model):
    """A transformer of two blocks, with positions that are turned or learned."""

    def __init__(self, learned=False, dtype=None, **attention):
        super().__init__()
        self.table = layers.Embedding(11, 16, dtype=dtype)
        self.places = layers.Embedding(32, 16, dtype=dtype) if learned else None
        self.add = layers.Add()
        base = None if learned else 1e4
        self.blocks = [
            layers.TransformerDecoder(32, 2, rotary_base=base, normalize_first=True, dtype=dtype, **attention)
            for _ in range(2)
        ]
        self.head = layers.Dense(11, dtype=dtype)

    def call(self, tokens):
        x = self.table(tokens)
        if self.places is not None:
            x = self.add([x, self.places(ops.broadcast_to(ops.arange(tokens.shape[1]), tokens.shape))])
        for block in self.blocks:
            x = block(x)
        return self.head(x)

    def step(self, tokens, caches, positions=None):
        x, after = self.table(tokens), []
        if self.places is not None:
            x = self.add([x, self.places(positions)])
        for block, cache in zip(self.blocks, caches, strict=True):
            x, cache = block(x, cache=cache)
            after.append(cache)
        return self.head(x), after

    def caches(self, batch, length):
        return [block.self_attention.make_cache(batch, length) for block in self.blocks]


@pytest.fixture
def chain():
    return Chain()


@pytest.fixture(scope="module")
def decoder():
    return trained(Decoder())


@pytest.fixture(scope="module")
def placed():
    return trained(Decoder(learned=True))


def trained(model):
    """The model with weights that make some tokens much likelier than others."""
    model(np.zeros((1, 3), "int32"))
    draw = np.random.default_rng(3)
    for variable in model.trainable_variables:
        variable.assign(draw.normal(size=variable.shape).astype("float32") * 0.7)
    return model


@pytest.fixture
def greedily():
    """What follows a prompt by looking at everything anew for each token."""

    def write(score, prompt, count, stop=None):
        tokens = list(prompt)
        for _ in range(count):
            tokens.append(int(np.argmax(score(tokens))))
            if tokens[-1] == stop:
                break
        return tokens[len(prompt) :]

    return write
