"""Logs may be written to; callbacks that raise are named; callbacks of other libraries do as well."""

import pytest

import graftax as gx
from graftax.callbacks import Logs
from graftax.core.errors import ArgumentTypeError
from tests.training.lines import X, Y, line


class Add(gx.Callback):
    """Adds a number to the logs."""

    def __init__(self, value=2.5):
        self.value = value

    def on_epoch_end(self, epoch, logs=None):
        logs["added"] = self.value


def test_t8_what_a_callback_writes_is_seen_by_others_and_by_the_history():
    seen = []

    class See(gx.Callback):
        def on_epoch_end(self, epoch, logs=None):
            seen.append(logs["added"])

        def on_train_end(self, logs=None):
            seen.append(logs["added"])

    history = line().fit(X, Y, verbose=0, callbacks=[Add(), See()])
    assert history.history["added"] == [2.5]
    assert seen == [2.5, 2.5]


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("wrong", ["x", [1.0], None, X])
def test_logs_hold_numbers(wrong):
    with pytest.raises(ArgumentTypeError, match="added"):
        line().fit(X, Y, verbose=0, callbacks=[Add(wrong)])


def test_logs_are_like_a_dict():
    logs = Logs({"loss": 1})
    logs.update(a=2)
    del logs["loss"]
    assert logs.pop("a") == 2.0
    assert logs.copy() == {}


class Fail(gx.Callback):
    """Raises in the second epoch, and notes what it is told."""

    def __init__(self, closes=True):
        self.closes, self.told = closes, []

    def on_epoch_end(self, epoch, logs=None):
        if epoch == 1:
            raise KeyError("nothing there")

    def on_exception(self, error):
        self.told.append(error)
        if not self.closes:
            raise ValueError("not closed")


def test_a_callback_that_raises_is_named_and_the_others_are_told():
    model, first, second = line(0.1), Fail(), Fail(closes=False)
    with pytest.raises(KeyError, match="nothing there") as caught:
        model.fit(X, Y, batch_size=5, epochs=4, verbose=0, callbacks=[first, second])
    notes = "\n".join(caught.value.__notes__)
    assert "the callback Fail.on_epoch_end 1" in notes
    assert "Fail.on_exception raised: ValueError('not closed')" in notes
    assert first.told == second.told == [caught.value]
    assert int(model.optimizer.iterations) == 2
    model.fit(X, Y, verbose=0)


@pytest.mark.broad
def test_hk2_train_end_is_not_called_after_an_error():
    ended = []

    class End(gx.Callback):
        def on_train_end(self, logs=None):
            ended.append(True)

    with pytest.raises(KeyError):
        line().fit(X, Y, epochs=2, verbose=0, callbacks=[End(), Fail()])
    assert ended == []


class FromElsewhere:
    """What a callback of Keras looks like: no common base, aliases of batch hooks, a model as a property."""

    def __init__(self):
        self.seen = []

    def set_model(self, model):
        self._model = model

    def set_params(self, params):
        self.params = params

    def on_batch_end(self, batch, logs=None):
        self.seen.append(batch)

    def on_train_batch_end(self, batch, logs=None):
        self.on_batch_end(batch, logs=logs)

    def on_epoch_end(self, epoch, logs=None):
        self._model.stop_training = True


@pytest.mark.broad
def test_callbacks_by_duck_typing():
    other = FromElsewhere()
    history = line().fit(X, Y, batch_size=3, epochs=5, verbose=0, callbacks=[other])
    assert other.seen == [0, 1]
    assert history.epoch == [0]
