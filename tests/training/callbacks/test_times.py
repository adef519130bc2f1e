"""Times of steps that the device has yet to do: what Timing and the line of progress say, by a clock of the test."""

import time

import pytest

import graftax as gx
from graftax.callbacks import Progress, Timing
from graftax.training.hooks.callback import Logs
from graftax.training.hooks.ended import end_of
from tests.training.lines import X, Y, line

DISPATCH, STEP, COMPILE, VALIDATION = 0.001, 0.5, 20.0, 30.0


class Device:
    """A clock, and a device that does one step after the other; reading a number waits for its step."""

    def __init__(self):
        self.now = self.free = 100.0

    def __call__(self):
        return self.now

    def dispatch(self, steps=1):
        self.now += DISPATCH
        self.free = max(self.now, self.free) + STEP * steps
        return Number(self, self.free)


class Number:
    shape = ()

    def __init__(self, device, at):
        self.device, self.at = device, at

    def __float__(self):
        self.device.now = max(self.device.now, self.at)
        return 0.25


@pytest.fixture
def device(monkeypatch):
    found = Device()
    monkeypatch.setattr(time, "perf_counter", found)
    return found


def run(device, callback, epochs, runs, together=1):
    """Give a callback what a training is that compiles at its first step; return the logs of the epochs."""
    callback.set_params({"step": 0, "epochs": epochs, "steps": runs * together, "verbose": 1})
    callback.on_train_begin()
    logs = []
    for epoch in range(epochs):
        callback.on_epoch_begin(epoch)
        for step in range(runs):
            callback.on_train_batch_begin(step * together)
            device.now += COMPILE if epoch == step == 0 else 0
            found = Logs({"loss": device.dispatch(together)})
            callback.params["step"] += together
            callback.on_train_batch_end((step + 1) * together - 1, found)
        logs.append(Logs(dict(found._values)))
        callback.on_epoch_end(epoch, logs[-1])
    return logs


@pytest.mark.parametrize(("runs", "together"), [(1, 1), (2, 1), (40, 1), (1, 8), (5, 8)])
def test_timing_counts_what_the_device_has_done(device, runs, together):
    timing = Timing()
    first, second = run(device, timing, 2, runs, together)
    assert timing.first_step_seconds == pytest.approx(COMPILE + STEP * together, rel=0.01)
    alone = together / (COMPILE + STEP * together)
    assert first["steps_per_second"] == pytest.approx(alone if runs == 1 else 1 / STEP, rel=0.01)
    assert second["steps_per_second"] == pytest.approx(1 / STEP, rel=0.01)
    assert second["seconds"] == pytest.approx(STEP * runs * together, rel=0.01)


@pytest.mark.parametrize("verbose", [1, 2])
def test_the_line_of_an_epoch_says_the_time_of_its_steps(device, capsys, verbose):
    run(device, Progress(verbose), 2, 40)
    first, second = capsys.readouterr().out.splitlines()
    assert "500ms/step  40.0s" in first  # 20 to compile
    assert "500ms/step  20.0s" in second


@pytest.mark.broad
def test_what_comes_after_the_steps_is_none_of_them(device, capsys):
    class Slow(gx.Callback):
        def on_epoch_end(self, epoch, logs=None):
            device.now += 1000

        def on_test_begin(self, logs=None):
            device.now += VALIDATION

        def on_train_batch_end(self, batch, logs=None):
            device.now += STEP

    history = line(0.1).fit(
        X, Y, batch_size=1, epochs=2, validation_data=(X, Y), verbose=2, callbacks=[Slow(), Timing()]
    )
    assert history.history["steps_per_second"] == pytest.approx([1 / STEP] * 2, rel=0.3)
    assert history.history["seconds"][1] == pytest.approx(5 * STEP + VALIDATION + 1000)
    assert all("ms/step" in text for text in capsys.readouterr().out.splitlines())


def test_the_end_of_a_step_is_when_it_has_been_done(device):
    assert end_of({"loss": 0.5}) == 100
    assert end_of(Logs({"loss": device.dispatch()})) == 100 + DISPATCH + STEP
