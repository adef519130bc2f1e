"""Callbacks from elsewhere, which do not say what they remember, go on all the same in a run that is resumed."""

import random
import re
import warnings

import numpy as np
import pytest

import graftax as gx
from graftax.training.hooks.plain_attributes import PlainAttributes, _contents

X = np.linspace(-1, 1, 24, dtype="float32").reshape(12, 2)


class Counts:
    """As a callback of Keras is: no get_state, set-up in on_train_begin."""

    def __init__(self, patience=3):
        self.patience = patience

    def set_model(self, model):
        self._model = model

    def set_params(self, params):
        self.params = params

    def on_train_begin(self, logs=None):
        self.seen, self.best, self.losses, self.arrays, self.by_name = 0, np.inf, [], None, {}

    def on_train_batch_end(self, batch, logs=None):
        self.seen += 1

    def on_epoch_end(self, epoch, logs=None):
        self.best = np.float32(min(self.best, logs["loss"]))
        self.losses.append(float(logs["loss"]))
        self.arrays = [v.numpy() for v in self._model.trainable_variables]
        self.by_name[f"epoch {epoch}"] = epoch


class Holds(Counts):
    def on_epoch_end(self, epoch, logs=None):
        self.window = {epoch}


class Killed(BaseException):
    pass


def train(folder, callback, kill_at=None):
    def kill(batch, logs):
        if kill_at is not None and int(model.optimizer.iterations) == kill_at:
            raise Killed

    gx.set_random_seed(0)
    model = gx.Sequential([gx.layers.Dense(1)])
    model.compile(gx.optimizers.SGD(0.1), "mse")
    watch = gx.callbacks.LambdaCallback(on_train_batch_end=kill)
    save = gx.callbacks.ModelCheckpoint(folder, every=2)
    model.fit(X, X[:, :1], batch_size=4, epochs=4, verbose=0, resume=folder, callbacks=[callback, save, watch])
    return callback


def kill_and_resume(folder, kind, **options):
    with pytest.raises(Killed):
        train(folder, kind(), kill_at=8)
    return train(folder, kind(**options))


def check_told(folder, kind, *lost):
    """Check that each of the two runs tells once what is lost: the first one when it saves, the other at its start."""
    with pytest.warns(UserWarning, match="without its attributes") as told:
        resumed = kill_and_resume(folder, kind)
    found = [re.match(r"the callback (\w+) (.*) without its attributes (.*): only", str(one.message)) for one in told]
    assert {one[1] for one in found} == {type(resumed).__name__}
    assert [one[2] for one in found] == ["is saved"] * (len(found) - 1) + ["goes on"]
    assert sorted(name for one in found[:-1] for name in one[3].split(", ")) == sorted(lost)
    assert sorted(found[-1][3].split(", ")) == sorted(lost)
    return resumed


@pytest.mark.broad
def test_what_it_counted_goes_on(tmp_path):
    whole = train(tmp_path / "whole", Counts())
    resumed = kill_and_resume(tmp_path / "broken", Counts, patience=5)
    assert resumed.seen == whole.seen == 12
    assert resumed.best == pytest.approx(whole.best)
    assert resumed.losses == whole.losses
    assert resumed.by_name == whole.by_name
    assert resumed.patience == 5  # a setting is that of the present run
    for one, other in zip(resumed.arrays, whole.arrays, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.broad
def test_what_cannot_be_saved_is_told_where_the_run_goes_on(tmp_path):
    check_told(tmp_path, Holds, "window (set)")


@pytest.mark.broad
def test_nothing_is_told_of_what_has_not_changed(tmp_path):
    class Opens(Counts):
        def __init__(self):
            super().__init__()
            self.function, self.path = abs, tmp_path

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert kill_and_resume(tmp_path / "run", Opens).seen == 12


@pytest.mark.parametrize("value", [1, 2.5, "text", True, None, [1, [2.0]], {"a": np.ones(2)}, float("nan")], ids=str)
def test_a_plain_value_is_remembered_once_it_has_changed(value):
    one, other = Counts(), Counts()
    for callback in (one, other):
        callback.value = np.zeros(3)
    attributes = PlainAttributes(one)
    assert attributes.get_state() is None
    one.value = value
    PlainAttributes(other).set_state(attributes.get_state())
    np.testing.assert_equal(other.value, value)


class Own(gx.Callback):
    """A callback of graftax that says nothing of what it remembers."""

    def __init__(self, window=None):
        self.seen, self.best, self.by_epoch, self.ends = [], float("inf"), {}, ("none", 0)
        self.window = window

    def on_epoch_end(self, epoch, logs=None):
        self.seen.append(float(logs["loss"]))
        self.best = min(self.best, self.seen[-1])
        self.by_epoch[epoch] = self.seen[-1]
        self.ends = ("epoch", epoch)


class Fills(Own):
    def on_epoch_end(self, epoch, logs=None):
        self.window.add(epoch)


class Says(Own):
    """It says that it remembers nothing but one number."""

    def get_state(self):
        return {"best": self.best}

    def set_state(self, state):
        self.best = state["best"]


class Stopping(gx.callbacks.EarlyStopping):
    def __init__(self):
        super().__init__("loss", patience=9)


@pytest.mark.broad
def test_a_callback_of_ones_own_goes_on_without_get_state(tmp_path):
    whole = train(tmp_path / "whole", Own())
    resumed = kill_and_resume(tmp_path / "broken", Own)
    assert (resumed.seen, resumed.best) == (whole.seen, whole.best)
    assert (resumed.by_epoch, resumed.ends) == (whole.by_epoch, ("epoch", 3))
    assert len(resumed.seen) == 4


@pytest.mark.broad
def test_a_container_that_was_filled_and_cannot_be_saved_is_told_once(tmp_path):
    check_told(tmp_path, lambda: Fills(set()), "window (set)")


@pytest.mark.broad
def test_what_says_its_state_is_asked_alone(tmp_path):
    resumed = kill_and_resume(tmp_path, Says)
    assert len(resumed.seen) == 2
    assert resumed.best <= min(resumed.seen)
    assert kill_and_resume(tmp_path / "ours", Stopping).best < np.inf


def test_a_callback_that_is_gone_is_told(tmp_path):
    with pytest.raises(Killed):
        train(tmp_path, Own(), kill_at=8)
    with pytest.warns(UserWarning, match="had a callback Own, .* left out: seen, best, by_epoch, ends"):
        train(tmp_path, gx.callbacks.Timing())


class Draws(gx.Callback):
    """A callback with generators of random numbers, and what they gave."""

    def __init__(self):
        self.generators = [1.0]
        self.numpy, self.older, self.python = np.random.default_rng(1), np.random.RandomState(2), random.Random(3)
        self.seen = []

    def on_epoch_end(self, epoch, logs=None):
        self.seen.append([float(self.numpy.normal()), float(self.older.normal()), self.python.gauss(0.0, 1.0)])


@pytest.mark.broad
def test_generators_go_on(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whole, resumed = train(tmp_path / "whole", Draws()), kill_and_resume(tmp_path / "broken", Draws)
    assert resumed.seen == whole.seen


class Box:
    def __init__(self):
        self.count = 0


class Keeps(gx.Callback):
    """A callback that changes what it holds: Variables of its own, an object, an iterator."""

    def __init__(self):
        self.mean, self.box, self.numbers = gx.metrics.Mean(), Box(), iter(range(99))
        self.idle, self.still = gx.metrics.Mean(), Box()

    def on_epoch_end(self, epoch, logs=None):
        self.mean.update(logs["loss"])
        self.box.count += next(self.numbers)


@pytest.mark.broad
def test_what_changes_in_place_is_told_too(tmp_path):
    check_told(tmp_path, Keeps, "mean (Mean)", "box (Box)", "numbers (range_iterator)")


@pytest.mark.broad
def test_what_is_saved_with_the_run_is_not_missed(tmp_path):
    class Looks(gx.Callback):
        """Holds parts of the model that it trains, some of which are not built yet."""

        def on_train_begin(self, logs=None):
            self.layer, self.all, self.optimizer = self.model.layers[0], self.model, self.model.optimizer

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kill_and_resume(tmp_path, Looks)


class Variables(Counts):
    def __init__(self):
        super().__init__()
        self.count = gx.Variable(0.0, trainable=False)
        self.by_name = {"count": gx.Variable([0, 0]), "draws": [np.random.default_rng(0)]}
        self.made_later = None

    def on_train_begin(self, logs=None):
        self.kernel = None

    def on_train_batch_end(self, batch, logs=None):
        self.count.assign_add(1.0)
        self.by_name["count"].assign_add([1, 2])
        self.by_name["draws"][0].normal()
        self.kernel = self._model.layers[0].kernel  # saved with the model
        if self.made_later is None:
            self.made_later = gx.Variable(0.0, trainable=False)
        self.made_later.assign_add(1.0)

    def on_epoch_end(self, epoch, logs=None):
        pass


@pytest.mark.broad
def test_variables_and_generators_in_containers_go_on(tmp_path):
    whole = train(tmp_path / "whole", Variables())
    with pytest.raises(Killed):
        train(tmp_path / "run", Variables(), kill_at=5)
    own = Variables()
    count = own.count
    assert train(tmp_path / "run", own).count is count
    assert (float(own.count), own.by_name["count"].numpy().tolist(), float(own.made_later)) == (12.0, [12, 24], 12.0)
    assert own.by_name["draws"][0].normal() == whole.by_name["draws"][0].normal()
    assert own.kernel is own._model.layers[0].kernel


class Freezes(gx.Callback):
    """Looks at its state where training begins."""

    def __init__(self):
        self.done, self.seen = False, []

    def on_train_begin(self, logs=None):
        self.found = self.done
        if not self.done:
            self.model.layers[0].kernel.trainable = False

    def on_epoch_begin(self, epoch, logs=None):
        if epoch == 1:
            self.model.layers[0].kernel.trainable = self.done = True


class SaysSo(Freezes):
    def get_state(self):
        return {"done": self.done}

    def set_state(self, state):
        self.done = state["done"]


class Resets(Freezes):
    def on_train_begin(self, logs=None):
        self.found = self.done
        self.done = False


@pytest.mark.broad
@pytest.mark.parametrize("kind", [Freezes, SaysSo, Resets])
def test_the_state_is_there_when_training_begins_and_after_it(tmp_path, kind):
    for kill_at in (8, 10):
        with pytest.raises(Killed):
            train(tmp_path, kind(), kill_at=kill_at)
    resumed = train(tmp_path, kind())
    assert (resumed.found, resumed.done) == (True, True)
    assert resumed.model.layers[0].kernel.trainable


def test_an_element_at_the_place_in_memory_of_one_that_is_gone_is_another():
    held = [{1}]
    for _ in range(20):
        before, place = _contents(held), id(held[0])
        assert _contents(held) == before
        held.clear()
        held.append({2})  # most often where the first one was
        assert _contents(held) != before
        if id(held[0]) == place:
            return
    pytest.fail("no object came to the place of another one")
