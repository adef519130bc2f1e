"""Whatever has a position, and is given to fit, goes on from there in a run that is resumed."""

import shutil
from itertools import product

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.callbacks import ModelCheckpoint, StopAtStep
from graftax.core.errors import DataError

DRAW = np.random.default_rng(0)
ROWS = [DRAW.normal(size=(n, 2)).astype("float32") for n in DRAW.integers(1, 8, 10)]
Y = DRAW.normal(size=(10, 1)).astype("float32")


class MeanOfSteps(layers.Layer):
    def call(self, x):
        return gx.ops.mean(x, axis=1)


def make(metrics=("mae",)):
    gx.set_random_seed(3)
    model = gx.Sequential([layers.Dense(2, activation="tanh"), MeanOfSteps(), layers.Dense(1)])
    model.compile(gx.optimizers.Adam(0.05), "mse", metrics=list(metrics))
    return model


def buckets():
    gx.set_random_seed(3)
    return gx.data.bucket(ROWS, Y, sizes=[4, 8], batch_size=3)


def batch(number):
    rows = np.random.default_rng(number).integers(0, 10, 3)
    return np.stack([np.resize(ROWS[row], (4, 2)) for row in rows]), Y[rows]


def endless():
    number = 0
    while True:
        number += 1
        yield batch(number)


class Anew:
    """A loader with an order of its own in each pass, which it can tell."""

    def __init__(self):
        self.passes = 0

    def __len__(self):
        return 4

    def __iter__(self):
        self.passes += 1
        return iter([batch(100 * self.passes + i) for i in range(4)])

    def get_state(self):
        return self.passes

    def set_state(self, state):
        self.passes = state


class Named(Anew):
    def __iter__(self):
        return ({"x": x, "y": y} for x, y in super().__iter__())


class Once:
    """An iterator that can tell where it is."""

    def __init__(self):
        self.number = 0

    def __iter__(self):
        return self

    def __next__(self):
        self.number += 1
        return batch(self.number)

    def get_state(self):
        return self.number

    def set_state(self, state):
        self.number = state


class NamedOnce(Once):
    def __next__(self):
        x, y = super().__next__()
        return {"x": x, "y": y}


class Restless:
    """Batches by index, in an order that changes when an epoch ends, and that it can tell."""

    workers = 1

    def __init__(self):
        self.draw, self.order = np.random.default_rng(1), np.arange(4)

    def __len__(self):
        return 4

    def __getitem__(self, i):
        return batch(int(self.order[i]))

    def on_epoch_end(self):
        self.draw.shuffle(self.order)


class PyDataset(Restless):
    def get_state(self):
        return {"order": self.order.tolist(), "draw": self.draw.bit_generator.state["state"]["state"] % 2**40}

    def set_state(self, state):
        self.order = np.array(state["order"])
        while self.draw.bit_generator.state["state"]["state"] % 2**40 != state["draw"]:
            self.draw.shuffle(np.arange(4))


SOURCES = {
    "buckets": buckets,
    "buckets ahead": lambda: gx.data.prefetch(buckets()),
    "a generator": endless,
    "a generator ahead": lambda: gx.data.prefetch(endless()),
    "a loader": Anew,
    "a loader ahead": lambda: gx.data.prefetch(Anew()),
    "columns": lambda: gx.data.columns(Named(), x="x", y="y"),
    "columns ahead": lambda: gx.data.prefetch(gx.data.columns(Named(), x="x", y="y")),
    "an iterator": Once,
    "an iterator ahead": lambda: gx.data.prefetch(Once()),
    "columns of an iterator": lambda: gx.data.columns(NamedOnce(), x="x", y="y"),
    "columns of an iterator ahead": lambda: gx.data.prefetch(gx.data.columns(NamedOnce(), x="x", y="y")),
    "batches by index": PyDataset,
}
ENDLESS = {name for name in SOURCES if "generator" in name or "iterator" in name}
PLACES = {"within an epoch": ("on_train_batch_begin", 6), "between epochs": ("on_epoch_begin", 4)}
PLACES["in a validation"] = ("on_test_batch_end", 8)


class Killed(BaseException):
    """What a machine does not say."""


class Kill(gx.Callback):
    """Copies the folder at a step, as a machine that stops would leave it, and ends the program."""

    def __init__(self, folder, copy, place):
        self.folder, self.copy, self.place = folder, copy, place

    def _look(self, hook):
        if (hook, self.params["step"]) == self.place:
            shutil.copytree(self.folder, self.copy)
            raise Killed

    def on_train_batch_begin(self, batch, logs=None):
        self._look("on_train_batch_begin")

    def on_epoch_begin(self, epoch, logs=None):
        self._look("on_epoch_begin")

    def on_test_batch_end(self, batch, logs=None):
        self._look("on_test_batch_end")


def run(folder, data, callbacks=(), model=None, **options):
    model = make() if model is None else model
    save = ModelCheckpoint(folder, every=1)
    options = {"epochs": 3, "steps_per_epoch": 4, "verbose": 0} | options
    history = model.fit(data, resume=folder, callbacks=[save, *callbacks], **options).history
    return [v.numpy() for v in model.variables], history


def require_same(tmp_path, place, make_run):
    whole = make_run(tmp_path / "whole", [])
    copy = tmp_path / "copy"
    with pytest.raises(Killed):
        make_run(tmp_path / "killed", [Kill(tmp_path / "killed", copy, place)])
    resumed = make_run(copy, [])
    assert resumed[1] == whole[1]
    for one, other in zip(whole[0], resumed[0], strict=True):
        np.testing.assert_array_equal(one, other)


BROAD = {
    ("an iterator ahead", "within an epoch"),
    ("columns", "between epochs"),
    ("batches by index", "between epochs"),
}
SLOW = [pytest.param(*one, marks=() if one in BROAD else pytest.mark.slow) for one in product(SOURCES, PLACES)]


@pytest.mark.broad
@pytest.mark.parametrize(("name", "place"), SLOW)
def test_of_the_training(tmp_path, name, place):
    against = {"validation_data": (np.stack([np.resize(row, (4, 2)) for row in ROWS]), Y)}
    require_same(tmp_path, PLACES[place], lambda folder, extra: run(folder, SOURCES[name](), extra, **against))


BROAD_AGAINST = {("buckets", "in a validation"), ("a generator", "between epochs")}
SLOW_AGAINST = [
    pytest.param(*one, marks=() if one in BROAD_AGAINST else pytest.mark.slow) for one in product(SOURCES, PLACES)
]


@pytest.mark.broad
@pytest.mark.parametrize(("name", "place"), SLOW_AGAINST)
def test_of_the_validation(tmp_path, name, place):
    steps = {"validation_steps": 3} if name in ENDLESS else {}

    def make_run(folder, extra):
        return run(folder, endless(), extra, validation_data=SOURCES[name](), **steps)

    require_same(tmp_path, PLACES[place], make_run)


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
def test_of_a_loader_that_serves_both(tmp_path, place):
    def make_run(folder, extra):
        both = buckets()
        return run(folder, both, extra, validation_data=gx.data.prefetch(both))

    require_same(tmp_path, PLACES[place], make_run)


@pytest.mark.broad
def test_a_run_that_is_stopped_within_an_epoch_goes_on_there(tmp_path):
    against = {"validation_data": (np.stack([np.resize(row, (4, 2)) for row in ROWS]), Y)}
    whole = run(tmp_path / "whole", buckets(), **against)
    for step in (6, 9):
        save = [ModelCheckpoint(tmp_path / "run"), StopAtStep(step)]
        options = {"epochs": 3, "steps_per_epoch": 4, "verbose": 0, "resume": tmp_path / "run"}
        make().fit(buckets(), callbacks=save, **options, **against)
    resumed = run(tmp_path / "run", buckets(), **against)
    assert resumed[1] == whole[1]
    for one, other in zip(whole[0], resumed[0], strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.broad
def test_an_epoch_that_was_over_but_for_its_end_has_the_numbers_of_its_steps(tmp_path):
    class Own(gx.Sequential):
        def train_step(self, batch):
            x, y = batch
            loss = self.optimizer.minimize(lambda: gx.ops.mean((self(x) - y) ** 2), self.trainable_variables)
            return {"loss": loss, "twice": 2 * loss}

    def make_run(folder, extra):
        gx.set_random_seed(3)
        model = Own([layers.Dense(2), MeanOfSteps(), layers.Dense(1)])
        model.compile("adam", "mse")
        return run(folder, endless(), extra, model, validation_data=buckets())

    require_same(tmp_path, ("on_test_batch_end", 8), make_run)


class Counts(gx.Callback):
    def __init__(self, every):
        self.every, self.seen = every, 0

    def on_epoch_end(self, epoch, logs=None):
        self.seen += (epoch + 1) % self.every == 0


@pytest.mark.broad
def test_callbacks_of_one_class_each_have_their_own_state(tmp_path):
    for epochs in (2, 3):
        callbacks = [Counts(100), Counts(1), Counts(2)]
        run(tmp_path, endless(), callbacks, epochs=epochs)
    assert [callback.seen for callback in callbacks] == [0, 3, 1]


class Shuffles:
    """A loader that draws an order for each pass, and does not say where it is."""

    def __init__(self):
        self.draw = np.random.default_rng(0)

    def __iter__(self):
        return iter([batch(int(i)) for i in self.draw.permutation(40)[:4]])


class Sequence(Restless):
    """Batches by index in an order that changes, without a word."""

    def __init__(self):
        self.draw, self.order = np.random.default_rng(1), np.arange(40)


@pytest.mark.broad
@pytest.mark.in_turn(3)
@pytest.mark.parametrize("epochs", [1, 2])
@pytest.mark.parametrize(
    "data", [Shuffles, lambda: gx.data.prefetch(Shuffles()), Sequence], ids=["own", "ahead", "index"]
)
def test_what_changes_from_pass_to_pass_and_does_not_say_so_is_refused(tmp_path, data, epochs):
    options = {"steps_per_epoch": None, "shuffle": False} if data is Sequence else {}
    run(tmp_path, data(), epochs=epochs, **options)
    with pytest.raises(DataError, match="yields other batches in each pass|others than those"):
        run(tmp_path, data(), epochs=3, **options)


@pytest.mark.broad
def test_data_without_a_batch_are_named_where_a_run_is_resumed(tmp_path):
    class Nothing(Anew):
        def __iter__(self):
            return iter([])

    run(tmp_path, Anew(), epochs=1)
    with pytest.raises(DataError, match="a Nothing that yields no batch"):
        run(tmp_path, Nothing(), epochs=2)
