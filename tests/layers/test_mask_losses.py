"""Whether a mask is lost is seen from what is computed: shapes that are equal by chance say nothing."""

import warnings

import jax.numpy as jnp
import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.layers import lost_masks

TOKENS = np.array([[4, 2, 5, 0, 0], [1, 5, 3, 6, 0]])
OTHERS = np.array([[1, 2, 5, 0, 4], [1, 5, 0, 6, 0]])


class Block(gx.Layer):
    """A layer of the user's in one of the user's; the test says what it computes."""

    def __init__(self, body):
        super().__init__()
        self.body = body
        self.lstm, self.dense, self.embed = layers.LSTM(3), layers.Dense(5), layers.Embedding(10, 5, mask_zero=True)

    def call(self, x):
        return self.body(self, x)


class Ready(Block):
    supports_masking = True


class Filling(gx.Layer):
    """Puts a number in place of what is hidden."""

    def call(self, x, mask=None):
        return x * 1 if mask is None else ops.where(mask[..., None], x, -1.0)

    def compute_mask(self, inputs, mask):
        return None


class Parts(gx.Model):
    """As many features as steps everywhere, so that shapes alone say nothing."""

    def __init__(self, body, block=None):
        super().__init__()
        self.body = body
        self.block = block
        self.embed = layers.Embedding(10, 5, mask_zero=True)
        self.plain = layers.Embedding(10, 5)
        self.dense, self.out = layers.Dense(5), layers.Dense(1)
        self.lstm, self.pool, self.norm = layers.LSTM(5), layers.GlobalAveragePooling1D(), layers.BatchNormalization()
        self.steps = layers.LSTM(5, return_sequences=True)
        self.both = layers.Bidirectional(layers.GRU(3))
        self.attention, self.encoder = layers.MultiHeadAttention(1, 4), layers.TransformerEncoder(6, 1)
        self.simple, self.repeat, self.fill = layers.Attention(), layers.RepeatVector(5), Filling()

    def call(self, x):
        return self.body(self, x, self.embed(x))


def attend(q, k, v, mask):
    scores = ops.where(mask[:, None], ops.matmul(q, ops.swapaxes(k, 1, 2)), -1e9)
    return ops.matmul(ops.softmax(scores), v)


def context_of(m, h):
    return ops.mean(m.pool(h)[:, None] * np.ones((1, 5, 1), "float32"), axis=-1, keepdims=True)


QUIET = {
    "first step": lambda m, x, h: h[:, 0],
    "first step by take": lambda m, x, h: m.dense(ops.take(h, 0, axis=1)),
    "last step by index": lambda m, x, h: ops.take_along_axis(h, ops.sum(x != 0, 1)[:, None, None] - 1, 1)[:, 0],
    "mean": lambda m, x, h: ops.mean(h, axis=1),
    "sum by mask": lambda m, x, h: ops.sum(h * (x != 0)[..., None], axis=1) / ops.sum(x != 0, 1)[:, None],
    "sum by einsum": lambda m, x, h: ops.einsum("bsf,bs->bf", h, ops.cast(x != 0, "float32")),
    "largest": lambda m, x, h: jnp.max(jnp.where(jnp.asarray(x != 0)[..., None], h, -9.0), axis=1),
    "vector repeated by a layer": lambda m, x, h: m.lstm(m.repeat(m.pool(h))),
    "vector repeated": lambda m, x, h: m.lstm(ops.repeat(m.pool(h)[:, None], 5, axis=1)),
    "vector stacked": lambda m, x, h: m.lstm(ops.stack([m.pool(h)] * 5, 1)),
    "state broadcast": lambda m, x, h: m.lstm(ops.broadcast_to(m.lstm(h)[:, None], (2, 5, 5))),
    "decoder": lambda m, x, h: m.lstm(m.plain(OTHERS)) + m.lstm(h),
    "decoder with a state": lambda m, x, h: m.lstm(m.plain(OTHERS), initial_state=[m.lstm(h)] * 2),
    "decoder that sees a vector": lambda m, x, h: m.lstm(m.plain(OTHERS) + context_of(m, h)),
    "decoder that attends": lambda m, x, h: m.lstm(m.attention(m.plain(OTHERS), h)),
    "decoder that attends by hand": lambda m, x, h: m.lstm(attend(m.plain(OTHERS), h, h, x != 0)),
    "steps of the decoder": lambda m, x, h: m.steps(m.plain(OTHERS)) * m.pool(h)[:, None],
    "said to have none": lambda m, x, h: m.lstm(h * 2, mask=None),
    "said to have none by place": lambda m, x, h: m.lstm(h * 2, None, None, None),
    "said of two": lambda m, x, h: m.lstm(m.norm(h * 2, mask=None), mask=None),
    "filled": lambda m, x, h: m.lstm(m.fill(h)),
    "key with a mask": lambda m, x, h: m.pool(m.attention(h, h * 2, h)),
    "weights of steps": lambda m, x, h: m.lstm(h) * ops.softmax(ops.sum(h, axis=1)),
    "features by features": lambda m, x, h: ops.matmul(ops.swapaxes(h, 1, 2), h),
}
LOUD = {
    "pooled and lost": (lambda m, x, h: m.pool(h) + m.lstm(h * 2), "'lstm' (LSTM)"),
    "lost and pooled": (lambda m, x, h: m.lstm(h * 2) + m.pool(h), "'lstm' (LSTM)"),
    "pooled, and an output": (lambda m, x, h: [m.pool(h), h * 2], "its output"),
    "kept and lost": (lambda m, x, h: [m.dense(h), m.lstm(h + 1)], "'lstm' (LSTM)"),
    "later": (lambda m, x, h: m.lstm(ops.tanh(ops.flip(h, -1) * 2 + 1)), "'lstm' (LSTM)"),
    "product": (lambda m, x, h: m.lstm(ops.matmul(h, np.ones((5, 5), "float32"))), "'lstm' (LSTM)"),
    "by numpy": (lambda m, x, h: m.lstm(jnp.einsum("bsf,fg->bsg", h, np.ones((5, 5), "float32"))), "'lstm' (LSTM)"),
    "through layers": (lambda m, x, h: m.lstm(m.dense(h * 2)), "'lstm' (LSTM)"),
    "through a scan": (lambda m, x, h: m.pool(m.steps(h * 2, mask=None)), "'pool' (GlobalAveragePooling1D)"),
    "in two directions": (lambda m, x, h: m.both(h * 2), "'both' (Bidirectional)"),
    "statistics": (lambda m, x, h: m.pool(m.norm(h * 2)), "'norm' (BatchNormalization)"),
    "attention": (lambda m, x, h: m.pool(m.attention(h, h * 2)), "'attention' (MultiHeadAttention)"),
    "encoder": (lambda m, x, h: m.pool(m.encoder(h * 2)), "'encoder' (TransformerEncoder)"),
    "transposed twice": (
        lambda m, x, h: m.lstm(ops.transpose(ops.transpose(h, (1, 0, 2)), (1, 0, 2))),
        "'lstm' (LSTM)",
    ),
    "reshaped": (lambda m, x, h: ops.reshape(h, (2, 5, 5, 1)), "its output"),
    "beside a vector": (lambda m, x, h: m.lstm(ops.concatenate([h, m.repeat(m.pool(h))], -1)), "'lstm' (LSTM)"),
}
NESTED = {
    "made in a block": (lambda b, x: b.embed(x), lambda m, x, h: m.lstm(m.block(x) * 2), 1),
    "lost outside of the block": (lambda b, x: b.lstm(x), lambda m, x, h: m.block(h * 2), 1),
    "lost inside": (lambda b, x: b.lstm(b.dense(x) * 2), lambda m, x, h: m.block(h), 1),
    "kept": (lambda b, x: b.dense(x), lambda m, x, h: m.lstm(m.block(h)), 0),
    "used up inside": (lambda b, x: b.lstm(x), lambda m, x, h: m.block(h), {Ready: 1}),
    "none inside": (lambda b, x: b.lstm(x), lambda m, x, h: m.block(m.plain(OTHERS)) + m.pool(h)[:, :3], 0),
}


def told(function):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        function()
        function()
    return [str(one.message) for one in found]


def run_of(model, run):
    call = lambda: model(TOKENS)  # noqa: E731
    return {"eager": call, "compiled": gx.jit(call), "predict": lambda: model.predict(TOKENS, verbose=0)}[run]


@pytest.mark.broad
@pytest.mark.in_turn(2)
@pytest.mark.parametrize("run", ["eager", "compiled", "predict"])
@pytest.mark.parametrize("body", QUIET)
def test_what_has_no_steps_has_lost_no_mask(body, run):
    if run == "predict" and "decoder" in body:
        pytest.skip("OTHERS is a constant of two rows")
    assert told(run_of(Parts(QUIET[body]), run)) == []


@pytest.mark.broad
@pytest.mark.in_turn(2)
@pytest.mark.parametrize("run", ["eager", "compiled", "predict"])
@pytest.mark.parametrize("body", LOUD)
def test_a_loss_is_named_also_beside_a_use(body, run):
    build, name = LOUD[body]
    (text,) = told(run_of(Parts(build), run))
    assert f"{name}, of shape" in text


@pytest.mark.broad
@pytest.mark.in_turn(2)
@pytest.mark.parametrize("run", ["eager", "compiled"])
@pytest.mark.parametrize("kind", [Block, Ready])
@pytest.mark.parametrize("name", NESTED)
def test_layers_of_the_user_in_one_of_the_user(name, kind, run):
    inside, body, expected = NESTED[name]
    wanted = expected.get(kind, 0) if isinstance(expected, dict) else expected  # a mask that does not fit the output
    assert len(told(run_of(Parts(body, kind(inside)), run))) == wanted


@pytest.mark.parametrize("kind", [Block, Ready])
def test_a_layer_that_hands_the_mask_on_may_lose_it_within(kind):
    chain = gx.Sequential(
        [layers.Embedding(10, 5, mask_zero=True), kind(lambda b, x: b.dense(x) + b.lstm(x * 2)[:, None, :1])]
    )
    (text,) = told(lambda: chain(TOKENS))
    assert "its input has it, and the input of layer 'layers/1/lstm' (LSTM)" in text


@pytest.mark.broad
def test_the_message_names_the_layer_before_the_operation_and_the_layer_after():
    def body(m, x, h):
        y = m.dense(h) * 2
        return m.lstm(y + 1)

    (text,) = told(run_of(Parts(body), "eager"))
    assert text.startswith(
        "a mask of shape (2, 5) is lost in layer 'parts' (Parts): the output of layer 'dense' (Dense)"
    )
    assert "and the input of layer 'lstm' (LSTM), of shape (2, 5, 5), has none" in text
    assert "the first one is mul (" in text
    assert ": y = m.dense(h) * 2)" in text
    assert "mask=mask in the call of 'lstm', or mask=None if all positions are to count" in text


@pytest.mark.broad
def test_what_is_followed_up_leaves_no_trace():
    """The call runs once more, without computing: what it assigns, adds and keeps is as after one call."""

    class Noting(Parts):
        def __init__(self):
            super().__init__(None)
            self.seen, self.last = [], None
            self.calls = gx.Variable(np.float32(0), trainable=False)
            self.drop = layers.Dropout(0.5)

        def call(self, x):
            h = self.embed(x)
            self.calls.assign_add(1.0)
            self.seen.append(h.shape)
            self.last = self.drop(h, training=True)
            self.add_loss(ops.sum(h) * 0 + 1.0)
            return self.lstm(h * 2) + self.last[:, 0]

    model = Noting()
    with pytest.warns(UserWarning, match="is lost in"):
        model(TOKENS)
    assert model.seen == [(2, 5, 5)]
    assert float(model.calls) == 1.0
    assert [float(one) for one in model.losses] == [1.0]
    assert np.isfinite(np.asarray(model.last)).all()


def test_a_call_that_looks_at_values_is_judged_by_shapes():
    def body(m, x, h):
        return m.lstm(h * 2) if float(ops.sum(h)) > -1e9 else m.pool(h)

    (text,) = told(run_of(Parts(body), "eager"))
    assert "the input of layer 'lstm' (LSTM), of shape (2, 5, 5), has none" in text


def test_a_chance_likeness_is_followed_up_once(monkeypatch):
    found = []
    find = lost_masks.mask_losses.find
    monkeypatch.setattr(lost_masks.mask_losses, "find", lambda *args: found.append(find(*args)) or found[-1])
    model = Parts(QUIET["mean"])
    for _ in range(4):
        model(TOKENS)
        model(TOKENS[:1])
    assert found == [[]]


@pytest.mark.broad
@pytest.mark.parametrize("policy", ["full", "dots"])
def test_a_layer_whose_values_are_computed_again_for_gradients(policy):
    block = Block(lambda b, x: b.dense(x) + b.lstm(x * 2)[:, None, :1])
    model = Parts(lambda m, x, h: m.block(h), block)
    gx.set_remat_policy(policy, model, "block")
    assert len(told(gx.jit(lambda: model(TOKENS)))) == 1


class Pooling(gx.Layer):
    def call(self, x, mask=None):
        return ops.max(x if mask is None else ops.where(mask[..., None], x, -np.inf), axis=1)


class Plain(gx.Layer):
    def call(self, x):
        return x * 2


@pytest.mark.parametrize(
    ("kind", "first", "second"),
    [
        (Pooling, "define compute_mask(self, inputs, mask) that returns None", "supports_masking = True"),
        (Plain, "Set supports_masking = True", "define compute_mask"),
    ],
)
def test_a_layer_that_says_nothing_is_offered_first_what_its_call_suggests(kind, first, second):
    x = layers.Embedding(10, 5, mask_zero=True)(TOKENS)
    layer = kind()
    (text,) = told(lambda: layer(x))
    assert "is dropped" in text
    assert 0 < text.index(first) < text.index(second)
