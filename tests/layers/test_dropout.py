import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops

X = np.linspace(1, 2, 4000, dtype="float32").reshape(2, 50, 40)


class Two(gx.Layer):
    """Two dropouts, with something of their own between them or not."""

    def __init__(self, between=False):
        super().__init__()
        self.first = layers.Dropout(0.5)
        self.between = layers.Dropout(0.5) if between else None
        self.second = layers.Dropout(0.5)

    def call(self, x):
        self.first(x)
        if self.between is not None:
            self.between(x)
        return self.second(x)


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_rate_and_scale(rate):
    out = np.asarray(layers.Dropout(rate)(X, training=True))
    kept = out != 0
    assert kept.mean() == pytest.approx(1 - rate, abs=4 * np.sqrt(rate * (1 - rate) / X.size))
    np.testing.assert_allclose(out[kept], X[kept] / (1 - rate), rtol=1e-6)


def test_kl6_inference_is_the_identity():
    layer = layers.Dropout(0.5)
    before = layer(X), gx.state(layer)
    for out in (layer(X), layer(X, training=False)):
        np.testing.assert_array_equal(out, X)
    np.testing.assert_array_equal(gx.state(layer)["seed_generator/state"], before[1]["seed_generator/state"])


def test_the_extreme_rates():
    assert not np.asarray(layers.Dropout(1)(X, training=True)).any()
    np.testing.assert_array_equal(layers.Dropout(0)(X, training=True), X)


@pytest.mark.parametrize("rate", [-0.1, 1.1, float("nan"), "half", None, True])
def test_the_rate_is_checked(rate):
    with pytest.raises(gx.errors.ArgumentError, match="rate="):
        layers.Dropout(rate)


@pytest.mark.broad
def test_kl14_equal_seeds_agree_call_by_call():
    one, two = layers.Dropout(0.5, seed=1, name="a"), layers.Dropout(0.5, seed=1, name="b")
    first, second = one(X, training=True), one(X, training=True)
    assert (np.asarray(first) != np.asarray(second)).any()
    np.testing.assert_array_equal(two(X, training=True), first)
    np.testing.assert_array_equal(two(X, training=True), second)


def test_kl14_the_state_is_a_variable():
    layer = layers.Dropout(0.5, seed=1)
    layer.build_for(X)
    [state] = layer.variables
    assert (state.path, state.shape, state.dtype, state.role) == ("seed_generator/state", (2,), "uint32", "seed")
    assert not state.trainable
    saved = state.numpy().copy()
    first = layer(X, training=True)
    state.assign(saved)
    np.testing.assert_array_equal(layer(X, training=True), first)


@pytest.mark.broad
def test_kl16_the_global_seed_decides():
    outs = []
    for seed in (3, 3, 4):
        gx.set_random_seed(seed)
        outs.append(np.asarray(layers.Dropout(0.5)(X, training=True)))
    np.testing.assert_array_equal(outs[0], outs[1])
    assert (outs[0] != outs[2]).any()


def test_one_stream_per_layer():
    layer = Two()
    layer(X, training=True)
    assert (layer.first.seed_generator.state.numpy() != layer.second.seed_generator.state.numpy()).any()


@pytest.mark.broad
def test_another_dropout_changes_no_draws():
    gx.set_random_seed(1)
    expected = Two()(X, training=True)
    gx.set_random_seed(1)
    np.testing.assert_array_equal(Two(between=True)(X, training=True), expected)


@pytest.mark.broad
def test_compiled_calls_move_the_stream():
    layer = layers.Dropout(0.5, seed=2)
    other = layers.Dropout(0.5, seed=2)
    compiled = gx.jit(lambda x: layer(x, training=True))
    for _ in range(3):
        np.testing.assert_array_equal(compiled(X), other(X, training=True))
    assert compiled.trace_count == 1


@pytest.mark.broad
def test_the_gradient_uses_the_draw_of_the_value():
    layer = layers.Dropout(0.5, seed=2)
    out, gradient = gx.value_and_grad(lambda x: ops.sum(layer(x, training=True)))(ops.ones((100,)))
    assert set(np.unique(gradient)) == {0, 2}
    assert float(out) == float(np.sum(gradient))


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("noise_shape", [(None, 1, None), (2, 1, 40), (1, 50, 1)])
def test_noise_shape_drops_together(noise_shape):
    kept = np.asarray(layers.Dropout(0.5, noise_shape)(X, training=True)) != 0
    for axis, size in enumerate(noise_shape):
        if size == 1:
            assert (kept == kept.take([0], axis=axis)).all()
    assert 0 < kept.mean() < 1


@pytest.mark.parametrize("noise_shape", [(None, 1), (3, 1, 1), (None, None, None, 1)])
def test_a_noise_shape_that_does_not_fit_is_refused(noise_shape):
    with pytest.raises(gx.errors.ShapeError, match=r"noise_shape=.*shape \(2, 50, 40\)"):
        layers.Dropout(0.5, noise_shape)(X, training=True)
