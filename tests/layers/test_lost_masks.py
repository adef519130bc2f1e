"""A mask that an operation in a call of the user's loses is warned of, and one that is used up is not."""

import warnings

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops

TOKENS = np.array([[4, 2, 7, 0, 0], [1, 5, 3, 6, 0]])


class Parts(gx.Model):
    """Layers that take, hand on and use up masks; the test says how they are put together."""

    def __init__(self, body):
        super().__init__()
        self.body = body
        self.embed = layers.Embedding(10, 8, mask_zero=True)
        self.dense, self.out, self.add = layers.Dense(8), layers.Dense(1), layers.Add()
        self.lstm, self.pool = layers.LSTM(4), layers.GlobalAveragePooling1D()
        self.five = layers.LSTM(5)
        self.both = layers.Bidirectional(layers.GRU(3, return_sequences=True))
        self.attention = layers.MultiHeadAttention(2, 4)

    def call(self, x):
        return self.body(self, x, self.embed(x))


KEPT = {
    "layers": lambda m, x, h: m.out(m.dense(h)),
    "both directions": lambda m, x, h: m.out(m.both(h)),
    "attention": lambda m, x, h: m.out(m.attention(h, h)),
    "merged": lambda m, x, h: m.out(m.add([h, m.dense(h)])),
    "pooled": lambda m, x, h: m.out(m.pool(m.dense(h))) * 2,
    "last state": lambda m, x, h: m.out(m.lstm(h)) * 2,
    "a vector as long as the sequence": lambda m, x, h: ops.matmul(m.lstm(h), np.ones((4, 5), "float32")),
    "as many units as steps": lambda m, x, h: m.five(m.dense(h)),
    "pooled by hand": lambda m, x, h: ops.sum(h * (x != 0)[..., None], axis=1),
    "given again": lambda m, x, h: m.lstm(h * 2, mask=x != 0),
    "another input of that length": lambda m, x, h: m.lstm(h) + m.lstm(np.ones((2, 5, 8), "float32")),
}
TWO_INPUTS = {
    "another input": lambda m, x: m.lstm(x["features"]) + m.lstm(m.embed(x["tokens"])),
    "pooled by hand beside another input": lambda m, x: (
        m.lstm(x["features"]) + ops.mean(m.embed(x["tokens"]) * (x["tokens"] != 0)[..., None], axis=1)[:, :4]
    ),
}
LOST = {
    "product": lambda m, x, h: m.out(h) * 2,
    "residual": lambda m, x, h: h + m.dense(h),
    "stack": lambda m, x, h: ops.stack([h, m.dense(h)], -1),
    "slice": lambda m, x, h: m.out(h)[..., 0],
    "reshape": lambda m, x, h: ops.reshape(h, (2, 5, 4, 2)),
    "before the state": lambda m, x, h: m.lstm(h * 2),
    "before a pooling": lambda m, x, h: m.pool(ops.concatenate([h, h], -1)),
}
GRAPHS = {
    "layers": (lambda h: layers.Dense(1)(h), 0),
    "last state": (lambda h: layers.LSTM(3)(h) * 2, 0),
    "product": (lambda h: layers.Dense(1)(h) * 2, 1),
    "slice": (lambda h: layers.Dense(1)(h)[..., 0], 1),
    "before the state": (lambda h: layers.LSTM(3)(h * 2), 1),
}
RUNS = {
    "eager": lambda m: lambda: m(TOKENS),
    "compiled": lambda m: gx.jit(lambda: m(TOKENS)),
    "predict": lambda m: lambda: m.predict(TOKENS, verbose=0),
    "in a chain": lambda m: (lambda chain: lambda: chain(TOKENS))(gx.Sequential([m])),
    "in a call": lambda m: (lambda outer: lambda: outer(TOKENS))(Outer(m)),
}


class Outer(gx.Layer):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def call(self, x):
        return self.inner(x)


def told(model, run):
    """The warnings of two calls."""
    function = RUNS[run](model)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        function()
        function()
    return [str(one.message) for one in found]


@pytest.mark.broad
@pytest.mark.in_turn(2)
@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("body", KEPT)
def test_a_mask_that_is_kept_or_used_up_is_not_warned_of(body, run):
    assert told(Parts(KEPT[body]), run) == []


class TwoInputs(Parts):
    def call(self, x):
        return self.body(self, x)


@pytest.mark.broad
@pytest.mark.parametrize("run", [lambda f: f, gx.jit], ids=["eager", "compiled"])
@pytest.mark.parametrize("body", TWO_INPUTS.values(), ids=TWO_INPUTS)
def test_an_input_that_never_had_a_mask_has_lost_none(body, run):
    model = TwoInputs(body)
    x = {"tokens": TOKENS, "features": np.ones((2, 5, 8), "float32")}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(lambda: model(x))()


@pytest.mark.broad
@pytest.mark.in_turn(2)
@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("body", LOST)
def test_a_mask_that_is_lost_is_warned_of_once(body, run):
    (text,) = told(Parts(LOST[body]), run)
    assert text.startswith("a mask of shape (2, 5) is lost in ")
    assert ("the input of" in text) is body.startswith("before")


@pytest.mark.broad
@pytest.mark.in_turn(2)
@pytest.mark.parametrize("run", ["eager", "compiled", "predict", "in a chain", "in a call"])
@pytest.mark.parametrize("body", GRAPHS)
def test_operations_in_a_graph_of_layers_lose_masks_likewise(body, run):
    x = gx.Input((5,), dtype="int32")
    build, expected = GRAPHS[body]
    model = gx.Model(x, build(layers.Embedding(10, 8, mask_zero=True)(x)))
    assert len(told(model, run)) == expected


def test_a_mask_that_came_in_is_lost_like_one_that_was_made():
    class Residual(gx.Layer):
        def __init__(self):
            super().__init__()
            self.inner = layers.Dense(8)

        def call(self, x):
            return x + self.inner(x)

    class Saying(Residual):
        def compute_mask(self, inputs, mask):
            return None

    x = layers.Masking()(np.ones((2, 5, 8), "float32"))
    with pytest.warns(UserWarning, match=r"Instead: layers for these steps, such as layers\.Add"):
        Residual()(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Saying()(x)
        Residual()(np.ones((2, 5, 8), "float32"))
