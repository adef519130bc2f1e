"""LSTM and GRU against Keras, PyTorch and steps written out in NumPy."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core.errors import ArgumentError, ShapeError
from graftax.layers.call_context import call_context

X = np.sin(np.arange(2 * 5 * 3, dtype="float32")).reshape(2, 5, 3)
MASK = np.array([[True, True, False, True, False], [False, True, True, True, True]])
MAKE = {
    "lstm": lambda **o: layers.LSTM(4, **o),
    "gru": lambda **o: layers.GRU(4, **o),
    "gru_before": lambda **o: layers.GRU(4, reset_after=False, **o),
}


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def by_hand(layer, x, mask=None, state=None):
    """One step after the other, in float64."""
    kernel, inner, bias = (np.asarray(v.numpy(), "float64") for v in (layer.kernel, layer.recurrent_kernel, layer.bias))
    n, outputs = layer.units, []
    h = np.zeros((x.shape[0], n)) if state is None else state[0]
    c = np.zeros((x.shape[0], n)) if state is None else state[-1]
    for t in range(x.shape[1]):
        if isinstance(layer, layers.LSTM):
            i, f, g, o = np.split(x[:, t] @ kernel + h @ inner + bias, 4, axis=1)
            new_c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
            new_h = sigmoid(o) * np.tanh(new_c)
        elif layer.reset_after:
            a, b = np.split(x[:, t] @ kernel + bias[0], 3, axis=1), np.split(h @ inner + bias[1], 3, axis=1)
            z, r = sigmoid(a[0] + b[0]), sigmoid(a[1] + b[1])
            new_c = new_h = z * h + (1 - z) * np.tanh(a[2] + r * b[2])
        else:
            a = np.split(x[:, t] @ kernel + bias, 3, axis=1)
            z, r = sigmoid(a[0] + h @ inner[:, :n]), sigmoid(a[1] + h @ inner[:, n : 2 * n])
            new_c = new_h = z * h + (1 - z) * np.tanh(a[2] + (r * h) @ inner[:, 2 * n :])
        present = np.ones((x.shape[0], 1), bool) if mask is None else mask[:, t, None]
        h, c = np.where(present, new_h, h), np.where(present, new_c, c)
        outputs.append(h)
    return np.stack(outputs, 1), h, c


def with_biases(layer):
    layer(X)
    layer.bias.assign(np.linspace(-1, 1, layer.bias.size, dtype="float32").reshape(layer.bias.shape))
    return layer


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("name", MAKE)
def test_steps_as_written_by_hand(name):
    layer = with_biases(MAKE[name](return_sequences=True, return_state=True))
    out, *state = layer(X)
    expected, h, c = by_hand(layer, X)
    np.testing.assert_allclose(out, expected, atol=2e-6)
    np.testing.assert_allclose(state[0], h, atol=2e-6)
    np.testing.assert_allclose(state[-1], c, atol=2e-6)
    later, *_ = layer(X[:, ::-1], initial_state=state)
    np.testing.assert_allclose(later, by_hand(layer, X[:, ::-1], state=(h, c))[0], atol=2e-6)
    masked, *_ = layer(X, mask=MASK)
    np.testing.assert_allclose(masked, by_hand(layer, X, MASK)[0], atol=2e-6)


@pytest.mark.parametrize("name", MAKE)
def test_as_in_keras(name, keras):
    theirs = (keras.layers.LSTM if name == "lstm" else keras.layers.GRU)(
        4, return_sequences=True, go_backwards=True, **({"reset_after": False} if name == "gru_before" else {})
    )
    ours = with_biases(MAKE[name](return_sequences=True, go_backwards=True))
    theirs.build(X.shape)
    assert [v.shape for v in ours.trainable_variables] == [tuple(w.shape) for w in theirs.weights]
    theirs.set_weights([v.numpy() for v in ours.trainable_variables])
    np.testing.assert_allclose(ours(X), theirs(X), atol=2e-6)
    np.testing.assert_allclose(ours(X, mask=MASK), theirs(X, mask=MASK), atol=2e-6)


@pytest.mark.parametrize("name", ["lstm", "gru"])
def test_as_in_torch_with_gradients(name):
    torch = pytest.importorskip("torch")
    ours = with_biases(MAKE[name](return_sequences=True))
    theirs = (torch.nn.LSTM if name == "lstm" else torch.nn.GRU)(3, 4, batch_first=True)
    kernel, inner = ours.kernel.numpy(), ours.recurrent_kernel.numpy()
    bias = np.stack([ours.bias.numpy(), np.zeros(16, "float32")]) if name == "lstm" else ours.bias.numpy()
    order = [0, 1, 2, 3] if name == "lstm" else [1, 0, 2]  # PyTorch has the reset gate first

    def reordered(values):
        return torch.from_numpy(
            np.concatenate([np.split(values, len(order), -1)[k] for k in order], -1).T.copy().squeeze()
        )

    with torch.no_grad():
        theirs.weight_ih_l0[:], theirs.weight_hh_l0[:] = reordered(kernel), reordered(inner)
        theirs.bias_ih_l0[:], theirs.bias_hh_l0[:] = reordered(bias[:1]), reordered(bias[1:])
    out = theirs(torch.from_numpy(X))[0]
    np.testing.assert_allclose(ours(X), out.detach().numpy(), atol=2e-6)
    (out**2).sum().backward()
    gradient = gx.grad(lambda: ops.sum(ours(X) ** 2), wrt=[ours.recurrent_kernel])()[0]
    mine = np.concatenate([np.split(np.asarray(gradient), len(order), -1)[k] for k in order], -1).T
    np.testing.assert_allclose(mine, theirs.weight_hh_l0.grad.numpy(), atol=2e-5)


@pytest.mark.broad
def test_kl24_the_forget_bias_starts_as_one():
    layer = layers.LSTM(2)
    layer(X)
    assert layer.bias.numpy().tolist() == [0, 0, 1, 1, 0, 0, 0, 0]
    layer = layers.LSTM(2, unit_forget_bias=False, bias_initializer="ones")
    layer(X)
    assert layer.bias.numpy().tolist() == [1.0] * 8


def test_the_recurrent_kernel_is_orthogonal():
    layer = layers.GRU(4)
    layer(X)
    np.testing.assert_allclose(layer.recurrent_kernel.numpy() @ layer.recurrent_kernel.numpy().T, np.eye(4), atol=1e-5)


@pytest.mark.broad
def test_masks_of_embeddings_arrive_and_go_on():
    tokens = np.array([[1, 2, 0, 0], [3, 0, 0, 0]])
    embedding, layer = layers.Embedding(5, 3, mask_zero=True), layers.LSTM(4, return_sequences=True)
    model = gx.Sequential([embedding, layer, layers.GRU(2)])
    short = model.layers[2](layer(embedding(tokens[:1, :2])))
    np.testing.assert_allclose(model(tokens)[:1], short, atol=1e-6)


@pytest.mark.broad
@pytest.mark.parametrize("name", ["lstm", "gru"])
def test_dropout(name):
    layer = MAKE[name](dropout=0.5, recurrent_dropout=0.5, seed=1)
    still = layer(X)
    np.testing.assert_array_equal(layer(X), still)
    first, second = np.asarray(layer(X, training=True)), np.asarray(layer(X, training=True))
    assert np.abs(first - second).max() > 1e-3
    assert layer.seed_generator.state.role == "seed"
    everything = MAKE[name](dropout=1.0, use_bias=False)
    assert not np.asarray(everything(X, training=True)).any()


@pytest.mark.broad
def test_on_the_numpy_backend_alike():
    layer = with_biases(layers.LSTM(4, return_sequences=True))
    expected = np.asarray(layer(X, mask=MASK))
    with gx.backend.use("numpy"):
        twin = layers.LSTM(4, return_sequences=True)
        twin(X)
        for mine, given in zip(twin.variables, layer.variables, strict=True):
            mine.assign(given.numpy())
        np.testing.assert_allclose(twin(X, mask=MASK), expected, atol=2e-6)


def test_errors():
    with pytest.raises(ShapeError, match="initial_state"):
        layers.LSTM(4)(X, initial_state=[np.zeros((2, 4), "float32")])
    with pytest.raises(ShapeError, match="at least 3|needs 3"):
        layers.GRU(4)(X[0])
    with pytest.raises(ArgumentError, match="0 steps"):
        layers.GRU(4)(X[:, :0])
    with pytest.raises(ArgumentError, match="dropout"):
        layers.GRU(4, recurrent_dropout=2.0)


@pytest.mark.broad
@pytest.mark.parametrize("name", MAKE)
def test_backwards_the_mask_goes_on_in_the_order_of_the_output(name):
    mask = np.array([[True, True, False], [True, True, True]])
    x = np.random.default_rng(0).normal(size=(2, 3, 4)).astype("float32")
    layer = MAKE[name](return_sequences=True, go_backwards=True)
    with call_context() as context:
        out = layer(x, mask=mask)
        handed = np.asarray(context.mask_of(out))
    assert handed.tolist() == mask[:, ::-1].tolist()
    assert (np.asarray(out)[~handed] == 0).all()  # nothing has been seen yet
    assert (np.asarray(out)[handed] != 0).all()
    with call_context() as context:
        assert context.mask_of(layer(x, mask=mask.astype("int32"))).tolist() == handed.tolist()
        assert context.mask_of(MAKE[name](go_backwards=True)(x, mask=mask)) is None
