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
