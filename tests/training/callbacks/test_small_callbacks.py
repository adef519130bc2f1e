"""TerminateOnNaN, LambdaCallback, StopAtStep, Timing, SwapAverages."""

import numpy as np
import pytest

import graftax as gx
from graftax.callbacks import LambdaCallback, StopAtStep, SwapAverages, TerminateOnNaN, Timing
from graftax.core.errors import ArgumentError, ArgumentTypeError, StateError
from tests.training.lines import X, Y, line


def test_ft26_terminate_on_nan(capsys):
    seen = []
    bad = np.array([[1.0], [1.0], [np.nan], [1.0], [1.0]], "float32")
    count = LambdaCallback(on_train_batch_end=lambda batch, logs: seen.append(batch))
    history = line(0.1).fit(
        bad, Y, batch_size=1, shuffle=False, epochs=3, verbose=0, callbacks=[TerminateOnNaN(), count]
    )
    assert seen == [0, 1, 2]
    assert np.isnan(history.history["loss"]).tolist() == [True]
    assert "step 3: the loss is nan" in capsys.readouterr().out


@pytest.mark.broad
def test_lambda_callback_calls_at_each_moment():
    seen = []
    hooks = ("train_begin", "epoch_begin", "train_batch_begin", "train_batch_end", "test_begin", "test_end")
    functions = {
        f"on_{hook}": lambda *args, hook=hook: seen.append(hook) for hook in (*hooks, "epoch_end", "train_end")
    }
    model = line()
    model.fit(X, Y, batch_size=5, validation_data=(X, Y), verbose=0, callbacks=[LambdaCallback(**functions)])
    assert seen == [*hooks, "epoch_end", "train_end"]
    predicted = []
    functions = {f"on_predict_{when}": lambda logs, when=when: predicted.append(when) for when in ("begin", "end")}
    model.predict(X, verbose=0, callbacks=[LambdaCallback(**functions)])
    assert predicted == ["begin", "end"]


def test_lambda_callback_refuses():
    with pytest.raises(ArgumentError, match="nothing to call"):
        LambdaCallback()
    with pytest.raises(ArgumentTypeError, match="on_epoch_end=3"):
        LambdaCallback(on_epoch_end=3)
    with pytest.raises(ArgumentTypeError, match="on_epoch_end"):
        LambdaCallback(on_epoch_ends=print)


def steps(model, callback, epochs=9):
    seen = []
    count = LambdaCallback(on_train_batch_end=lambda batch, logs: seen.append(batch))
    model.fit(X, Y, batch_size=2, epochs=epochs, verbose=0, callbacks=[callback, count])
    return len(seen)


@pytest.mark.broad
def test_hk3_stop_at_step_counts_from_where_training_stands():
    model = line()
    assert steps(model, StopAtStep(last_step=4)) == 4
    assert steps(model, StopAtStep(num_steps=4)) == 4
    assert steps(model, StopAtStep(last_step=9)) == 1


@pytest.mark.broad
def test_hk4_where_the_last_step_was_taken_there_is_none():
    model = line()
    assert steps(model, StopAtStep(last_step=3)) == 3
    assert steps(model, StopAtStep(last_step=3)) == 0
    assert int(model.optimizer.iterations) == 3


@pytest.mark.parametrize("given", [{}, {"last_step": 1, "num_steps": 1}, {"last_step": 0}])
def test_hk3_one_of_both(given):
    with pytest.raises(ArgumentError, match="one of them"):
        StopAtStep(**given)


@pytest.mark.broad
def test_hk8_timing_is_never_negative():
    timing = Timing()
    model = line()
    for _ in range(2):
        history = model.fit(X, Y, batch_size=2, epochs=2, verbose=0, callbacks=[timing]).history
        assert all(value > 0 for name in ("seconds", "steps_per_second") for value in history[name])
    assert timing.first_step_seconds > 0
    assert model.fit(X, Y, batch_size=5, verbose=0, callbacks=[timing]).history["steps_per_second"][0] > 0


class Weights(gx.Callback):
    """What an evaluation sees, and what training has."""

    def __init__(self):
        self.tested, self.trained = [], []

    def on_test_batch_end(self, batch, logs=None):
        self.tested.append(float(self.model.variables[0].numpy().item()))

    def on_epoch_end(self, epoch, logs=None):
        self.trained.append(float(self.model.variables[0].numpy().item()))


def averaging():
    model = line()
    model.compile(gx.optimizers.SGD(0.01, ema_momentum=0.5), "mse")
    return model


@pytest.mark.broad
def test_swap_averages_for_evaluations_and_at_the_end():
    model, weights = averaging(), Weights()
    model.fit(X, Y, batch_size=5, epochs=2, validation_data=(X, Y), verbose=0, callbacks=[SwapAverages(), weights])
    first, second = weights.trained
    assert weights.tested[0] == first  # the first update is the average
    assert weights.tested[1] == pytest.approx((first + second) / 2)
    assert model.variables[0].numpy().item() == pytest.approx((first + second) / 2)
    swap = SwapAverages(at_end=False)
    model.fit(X, Y, batch_size=5, validation_data=(X, Y), verbose=0, callbacks=[swap, weights])
    assert model.variables[0].numpy().item() == weights.trained[-1]


@pytest.mark.broad
def test_swap_averages_puts_the_weights_back_after_an_error():
    class Fail(gx.Callback):
        def on_test_batch_end(self, batch, logs=None):
            raise OSError("no")

    model, weights = averaging(), Weights()
    with pytest.raises(OSError, match="no"):
        model.fit(
            X, Y, epochs=2, validation_data=(X, Y), batch_size=5, verbose=0, callbacks=[SwapAverages(), weights, Fail()]
        )
    model.fit(X, Y, verbose=0)  # would refuse inside of averaged()


def test_swap_averages_needs_some():
    with pytest.raises(StateError, match="ema_momentum"):
        line().fit(X, Y, verbose=0, callbacks=[SwapAverages()])


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("last", [1, 3, 4, 7])
def test_no_step_is_run_beyond_the_last_one_where_several_are_run_at_once(last):
    model = line(steps_per_execution=2)
    model.fit(X, Y, batch_size=1, epochs=2, verbose=0, callbacks=[StopAtStep(last_step=last)])
    assert int(model.optimizer.iterations) == last


@pytest.mark.broad
def test_averages_and_rates_of_an_optimizer_around_another_one():
    model = line()
    model.compile(gx.optimizers.Lookahead(gx.optimizers.SGD(0.1, ema_momentum=0.5)), "mse")
    halve = gx.callbacks.LearningRateScheduler(lambda epoch, rate: rate / 2)
    history = model.fit(X, Y, epochs=2, verbose=0, validation_data=(X, Y), callbacks=[SwapAverages(), halve]).history
    np.testing.assert_allclose(history["learning_rate"], [0.05, 0.025])
    again = model.evaluate(X, Y, verbose=0)["loss"]
    np.testing.assert_allclose(history["val_loss"][-1], again, rtol=1e-6)
