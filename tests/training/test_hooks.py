"""The hooks of callbacks: their order, what they are told, what they may change."""

import pytest

import graftax as gx
from tests.training.lines import X, Y, line, losses


class Log(gx.Callback):
    """Writes down every hook."""

    def __init__(self):
        self.seen = []

    def on_train_begin(self, logs=None):
        self.seen.append("train_begin")

    def on_train_end(self, logs=None):
        self.seen.append(("train_end", sorted(logs)))

    def on_epoch_begin(self, epoch, logs=None):
        self.seen.append(("epoch_begin", epoch))

    def on_epoch_end(self, epoch, logs=None):
        self.seen.append(("epoch_end", epoch, sorted(logs)))

    def on_train_batch_begin(self, batch, logs=None):
        self.seen.append(("batch_begin", batch))

    def on_train_batch_end(self, batch, logs=None):
        self.seen.append(("batch_end", batch))

    def on_test_begin(self, logs=None):
        self.seen.append("test_begin")

    def on_test_end(self, logs=None):
        self.seen.append(("test_end", sorted(logs)))


def test_ft10_params():
    log = Log()
    line().fit(X, Y, batch_size=2, epochs=2, verbose=0, callbacks=[log])
    assert {k: log.params[k] for k in ("verbose", "epochs", "steps")} == {"verbose": 0, "epochs": 2, "steps": 3}


@pytest.mark.broad
def test_ft11_order_of_hooks():
    log = Log()
    line().fit(X, Y, batch_size=3, validation_data=(X, Y), verbose=0, callbacks=[log])
    assert log.seen == [
        "train_begin",
        ("epoch_begin", 0),
        ("batch_begin", 0),
        ("batch_end", 0),
        ("batch_begin", 1),
        ("batch_end", 1),
        "test_begin",
        ("test_end", ["loss"]),
        ("epoch_end", 0, ["learning_rate", "loss", "val_loss"]),
        ("train_end", ["learning_rate", "loss", "val_loss"]),
    ]


def test_ft11_callbacks_run_in_list_order():
    order = []

    class Named(gx.Callback):
        def __init__(self, name):
            self.name = name

        def on_epoch_end(self, epoch, logs=None):
            order.append(self.name)

    line().fit(X, Y, verbose=0, callbacks=[Named("a"), Named("b")])
    assert order == ["a", "b"]


@pytest.mark.broad
def test_ft12_batch_logs_are_running_means():
    seen = []

    class Watch(gx.Callback):
        def on_train_batch_end(self, batch, logs=None):
            seen.append(logs["loss"])

    line().fit(X, Y, batch_size=4, shuffle=False, verbose=0, callbacks=[Watch()])
    assert seen == [3.5, 6.0]


def test_ft14_a_hook_without_logs_is_a_type_error():
    class Wrong(gx.Callback):
        def on_epoch_end(self, epoch):
            pass

    with pytest.raises(TypeError):
        line().fit(X, Y, verbose=0, callbacks=[Wrong()])


@pytest.mark.broad
@pytest.mark.parametrize(("freq", "count"), [(2, 2), ([1, 4], 2), (1, 4)])
def test_ft15_validation_freq(freq, count):
    history = line().fit(X, Y, epochs=4, validation_data=(X, Y), validation_freq=freq, verbose=0).history
    assert len(history["val_loss"]) == count
    assert len(history["loss"]) == 4


def test_need14_assigning_in_a_callback_takes_effect():
    class Set(gx.Callback):
        def on_train_batch_end(self, batch, logs=None):
            self.model.variables[0].assign([[2.0]])

    model = line()
    assert losses(model, X, Y, batch_size=5, epochs=2, callbacks=[Set()]) == [6.0, 24.0]


def test_need14_nobody_reads_nobody_waits():
    from graftax.training.callbacks import Logs

    class Unread:
        def __float__(self):
            raise AssertionError("fetched from the device")

    logs = Logs({"loss": Unread()})
    assert list(logs) == ["loss"]


def test_stop_training_ends_after_the_step():
    class Stop(gx.Callback):
        def on_train_batch_end(self, batch, logs=None):
            self.model.stop_training = batch == 1

    model = line()
    history = model.fit(X, Y, batch_size=1, epochs=3, verbose=0, callbacks=[Stop()])
    assert history.epoch == [0]
    assert int(model.optimizer.iterations) == 2


@pytest.mark.broad
def test_one_function_as_two_hooks_is_looked_at_as_each():
    class Once(gx.Callback):
        def on_train_begin(self, logs=None):
            pass

    class Twice(gx.Callback):
        on_train_begin = Once.on_train_begin
        on_epoch_end = Once.on_train_begin

    line().fit(X, Y, verbose=0, callbacks=[Once()])
    with pytest.raises(gx.errors.ArgumentTypeError, match="it is called with epoch, logs"):
        line().fit(X, Y, verbose=0, callbacks=[Twice()])


def test_a_hook_that_was_assigned_to_the_object_is_called():
    seen = []
    callback = gx.callbacks.Callback()
    callback.on_epoch_end = lambda epoch, logs=None: seen.append(epoch)
    line().fit(X, Y, epochs=2, verbose=0, callbacks=[callback])
    assert seen == [0, 1]
