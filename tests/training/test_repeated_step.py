import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.callbacks import LambdaCallback

X = np.random.default_rng(0).normal(size=(24, 3)).astype("float32")
Y = X.sum(1, keepdims=True)


def net(rate=0.0):
    gx.set_random_seed(0)
    model = gx.Sequential([layers.Dense(4, activation="tanh"), layers.Dropout(rate), layers.Dense(1)])
    model.compile(gx.optimizers.SGD(0.1), "mse")
    model.build_for(X)
    return model


def by_hand(model, batches):
    """The same steps, each called as any compiled function is."""
    step = gx.jit(model.train_step)
    for batch in batches:
        step(batch)
    return model.get_weights()


def batches(size=4):
    return [(X[i : i + size], Y[i : i + size]) for i in range(0, len(X), size)]


def fitted(model, hook=None, **options):
    callbacks = [] if hook is None else [LambdaCallback(on_train_batch_begin=hook)]
    model.fit(X, Y, batch_size=4, shuffle=False, verbose=0, callbacks=callbacks, **options)
    return model.get_weights()


def assert_same(one, other):
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.broad
def test_many_steps_alike_are_those_of_plain_calls():
    assert_same(fitted(net()), by_hand(net(), batches()))


@pytest.mark.broad
def test_what_is_frozen_between_batches_stays():
    model, kept = net(), {}

    def freeze(batch, logs=None):
        if batch == 3:
            model.layers[0].freeze()
            kept["kernel"] = model.layers[0].kernel.numpy()

    fitted(model, freeze)
    np.testing.assert_array_equal(model.layers[0].kernel.numpy(), kept["kernel"])


@pytest.mark.broad
def test_a_setting_that_changes_between_batches_counts():
    model = net(0.5)
    fitted(model, lambda batch, logs=None: setattr(model.layers[1], "rate", 0.0))
    assert_same(model.get_weights(), by_hand(net(0.0), batches()))


@pytest.mark.broad
def test_eager_running_begins_between_batches():
    calls = []

    def loss(y, p):
        calls.append(1)
        return gx.ops.mean((y - p) ** 2, axis=-1)

    model = net()
    model.compile(gx.optimizers.SGD(0.1), loss)
    traces = []

    def switch(batch, logs=None):
        traces.append(len(calls))
        gx.run_eagerly(batch >= 3)

    try:
        fitted(model, switch)
    finally:
        gx.run_eagerly(False)
    assert traces[1] == traces[3] < traces[4] < traces[5] < len(calls)


def test_data_that_a_callback_writes_over_are_those_of_the_step():
    x, y, model = X.copy(), Y.copy(), net()

    def write(batch, logs=None):
        x[: batch * 4], y[: batch * 4] = 7.0, 7.0  # rows that were trained on

    model.fit(x, y, batch_size=4, shuffle=False, verbose=0, callbacks=[LambdaCallback(on_train_batch_begin=write)])
    assert_same(model.get_weights(), by_hand(net(), batches()))


@pytest.mark.broad
def test_batches_on_the_device():
    model = net()
    model.fit([tuple(map(gx.ops.asarray, batch)) for batch in batches()], verbose=0)
    assert_same(model.get_weights(), by_hand(net(), batches()))


@pytest.mark.broad
def test_another_dtype_and_another_length_are_other_programs():
    model = net()
    given = [*batches()[:3], (X[:2], Y[:2]), (X[2:4].astype("float16"), Y[2:4]), *batches()[3:]]
    model.fit(given, verbose=0)
    assert_same(model.get_weights(), by_hand(net(), given))


@pytest.mark.broad
def test_a_program_that_looks_at_results_still_raises():
    model = net()
    x = X.copy()
    x[-1] = np.inf
    with pytest.raises(gx.errors.NumericsError, match="step 6"):
        model.fit(x, Y, batch_size=4, shuffle=False, verbose=0, check_nans=True)
