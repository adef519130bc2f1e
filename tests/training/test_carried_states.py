"""Layers with stateful=True in fit and evaluate: validation leaves their state alone, and no order is drawn."""

from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.core.errors import ArgumentError

X = np.random.default_rng(0).normal(size=(4, 3, 2)).astype("float32")
Y = np.ones((4, 1), "float32")


def _model() -> gx.Sequential:
    gx.random.set_random_seed(0)
    model = gx.Sequential([layers.SimpleRNN(2, stateful=True), layers.Dense(1)])
    model.compile("sgd", "mse")
    return model


def _state(model: gx.Sequential) -> Any:
    return np.array(model.layers[0].carried[0].numpy())


def _fit(model: gx.Sequential, **options: Any) -> Any:
    return model.fit(X, Y, batch_size=2, epochs=2, shuffle=False, verbose=0, **options)


@pytest.mark.broad
def test_a_validation_does_not_change_training() -> None:
    plain = _model()
    _fit(plain)
    validated = _model()
    history = _fit(validated, validation_data=(5 * X[:2], Y[:2]), validation_batch_size=2)
    assert len(history.history["val_loss"]) == 2
    np.testing.assert_array_equal(_state(plain), _state(validated))
    np.testing.assert_array_equal(plain.layers[1].kernel, validated.layers[1].kernel)


@pytest.mark.broad
def test_evaluate_gives_the_state_back() -> None:
    model = _model()
    model.evaluate(X, Y, batch_size=2, verbose=0)
    assert not _state(model).any()
    _fit(model)
    before = _state(model)
    first = model.evaluate(X, Y, batch_size=2, verbose=0)
    np.testing.assert_array_equal(_state(model), before)
    assert before.any()
    assert model.evaluate(X, Y, batch_size=2, verbose=0) == first


def test_a_new_order_of_sequences_is_refused() -> None:
    model = _model()
    with pytest.raises(ArgumentError, match=r"SimpleRNN(.|\n)*shuffle=False"):
        model.fit(X, Y, batch_size=2, verbose=0)
    wrapped = gx.Sequential([layers.Bidirectional(layers.LSTM(2, stateful=True)), layers.Dense(1)])
    wrapped.compile("sgd", "mse")
    with pytest.raises(ArgumentError, match="stateful=True"):
        wrapped.fit(X, Y, batch_size=2, shuffle=True, verbose=0)
    model.fit([(X[:2], Y[:2])] * 2, verbose=0)  # batches come in the order that they are given


@pytest.mark.broad
def test_no_gradient_flows_from_one_call_to_the_next() -> None:
    layer = layers.SimpleRNN(2, stateful=True, return_state=True)
    layer(X)

    def loss(x: Any, through: bool) -> Any:
        layer.reset_state()
        _, state = layer(x)
        return gx.ops.sum(layer(X, initial_state=[state] if through else None)[0])

    assert not np.any(gx.grad(loss)(X, False))
    assert np.any(gx.grad(loss)(X, True))


@pytest.mark.broad
@pytest.mark.parametrize("hook", ["on_train_batch_end", "on_epoch_end"])
def test_predict_in_a_callback_does_not_change_training(hook: str) -> None:
    plain = _model()
    _fit(plain)
    watched = _model()

    def predict(*args: Any) -> None:
        watched.predict(5 * X[:2], batch_size=2, verbose=0)

    _fit(watched, callbacks=[gx.callbacks.LambdaCallback(**{hook: predict})])
    np.testing.assert_array_equal(_state(plain), _state(watched))
    np.testing.assert_array_equal(plain.layers[1].kernel, watched.layers[1].kernel)


def test_predict_outside_of_loops_continues_the_state() -> None:
    model = _model()
    first = model.predict(X[:2], batch_size=2, verbose=0)
    assert not np.array_equal(first, model.predict(X[:2], batch_size=2, verbose=0))


class Running(layers.Layer):
    """Carries a state of its own from call to call, and counts evaluations."""

    def build(self, input_shape):
        self.state = self.add_weight((2,), "zeros", trainable=False, role="state")
        self.seen = self.add_weight((), "zeros", trainable=False, role="counter")
        self.kernel = self.add_weight((3, 2))

    def call(self, x, training=False):
        out = gx.ops.tanh(x @ self.kernel + self.state)
        self.state.assign(gx.ops.stop_gradient(gx.ops.mean(out, axis=0)))
        if not training:
            self.seen.assign_add(1.0)
        return out


@pytest.mark.broad
@pytest.mark.parametrize("eager", [False, True])
def test_a_state_of_ones_own_comes_back_after_validation(eager):
    """Found by an outsider: training went on from the state that the validation ended with."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(8, 3)).astype("float32"), np.ones((8, 1), "float32")

    def trained(**settings):
        gx.set_random_seed(0)
        model = gx.Sequential([Running(), layers.BatchNormalization(), layers.Dense(1)])
        model.compile("sgd", "mse", run_eagerly=eager)
        model.fit(x, y, batch_size=4, epochs=3, shuffle=False, verbose=0, **settings)
        return model

    alone, validated = trained(), trained(validation_data=(2 * x, y), validation_batch_size=4)
    counted = {path: value for path, value in gx.state(validated).items() if not path.endswith("seen")}
    for path, value in counted.items():
        np.testing.assert_array_equal(value, gx.state(alone)[path], err_msg=path)
    assert float(validated.layers[0].seen) == 6  # a counter goes on
    validated.evaluate(x, y, verbose=0)
    np.testing.assert_array_equal(validated.layers[0].state, counted["layers/0/state"])
    validated.predict(x, verbose=0)
    assert not np.array_equal(validated.layers[0].state, counted["layers/0/state"])
