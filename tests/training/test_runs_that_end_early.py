"""Every way in which a run can end early, and be resumed: history and weights are those of the unbroken run."""

import os
import shutil
import signal

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.callbacks import EarlyStopping, ModelCheckpoint, ReduceLROnPlateau, StopAtStep

X = np.random.default_rng(0).normal(size=(16, 2)).astype("float32")
Y = X[:, :1] * 2 + 1


class Noise(layers.Layer):
    """Draws random numbers, and counts, in training and in evaluation alike."""

    def __init__(self):
        super().__init__()
        self.seeds = gx.random.SeedGenerator()
        self.calls_so_far = gx.Variable(0.0, trainable=False, role="counter", name="calls_so_far")

    def call(self, x):
        self.calls_so_far.assign_add(1.0)
        return x + 0.1 * gx.random.normal(ops.shape(x), seed=self.seeds)


class Own(gx.Sequential):
    """A step of one's own, with a number that no metric counts."""

    def train_step(self, batch):
        x, y = batch
        loss = self.optimizer.minimize(lambda: ops.mean((self(x, training=True) - y) ** 2), self.trainable_variables)
        return {"loss": loss, "twice": 2 * loss}


class Counts(gx.Callback):
    """Remembers how often each hook was called that a resumed run repeats."""

    def __init__(self):
        super().__init__()
        self.epochs_begun = self.tests_begun = self.tested = 0

    def on_epoch_begin(self, epoch, logs=None):
        self.epochs_begun += 1
        self.model.optimizer.learning_rate = float(self.model.optimizer.learning_rate) * 0.9

    def on_test_begin(self, logs=None):
        self.tests_begun += 1

    def on_test_batch_end(self, batch, logs=None):
        self.tested += 1


def fit(folder, extra=(), kind=gx.Sequential, steps=1, on_preemption=False, every=100):
    gx.set_random_seed(3)
    model = kind([layers.Dense(3), layers.Dropout(0.2), Noise(), layers.Dense(1)])
    model.compile(gx.optimizers.Adam(0.05), "mse", metrics=["mae"], steps_per_execution=steps)
    counts = Counts()
    plateau = ReduceLROnPlateau("loss", patience=1, min_delta=10.0, factor=0.5, verbose=0)
    stop = EarlyStopping("val_loss", patience=10)
    save = ModelCheckpoint(folder, every=every, on_preemption=on_preemption)
    history = model.fit(
        X, Y, batch_size=4, epochs=4, verbose=0, validation_data=(X, Y), validation_batch_size=8, resume=folder,
        callbacks=[counts, plateau, stop, *extra, save],
    )  # fmt: skip
    kept = {v.path: v.numpy() for v in [*model.variables, *model.optimizer.variables]}
    return kept, (history.epoch, history.history), {**vars(counts)}, (stop.best, stop.best_epoch, plateau.wait)


OWN = ("epochs_begun", "tests_begun", "tested")


def require_the_same(one, other):
    assert one[0].keys() == other[0].keys()
    for path, value in one[0].items():
        np.testing.assert_array_equal(value, other[0][path], err_msg=path)
    assert one[1] == other[1]
    assert [one[2][name] for name in OWN] == [other[2][name] for name in OWN]
    assert one[3] == other[3]


HOOKS = {  # in each of them, a call in the middle of the run
    "on_epoch_begin": 2,
    "on_train_batch_begin": 6,
    "on_train_batch_end": 6,
    "on_test_begin": 2,
    "on_test_batch_begin": 3,
    "on_test_batch_end": 3,
    "on_test_end": 2,
    "on_epoch_end": 2,
}


class Broken(Exception):
    """What a callback may raise."""


def at(hook, which, act):
    calls = []

    def run(self, *_, **__):
        calls.append(hook)
        if len(calls) == which:
            act(self)

    return type(
        "At", (gx.Callback,), {hook: run, "get_state": lambda self: None, "set_state": lambda self, state: None}
    )()


def stop(callback):
    callback.model.stop_training = True


def preempt(callback):
    os.kill(os.getpid(), signal.SIGTERM)


def raising(error):
    def act(callback):
        raise error

    return act


def end_early(folder, way, hook, which, **options):
    if way == "stopped":
        fit(folder, [at(hook, which, stop)], **options)
    elif way == "preempted":
        fit(folder, [at(hook, which, preempt)], on_preemption=True, **options)
    elif way == "gone":  # what the disk has at that moment, as after a power cut

        def vanish(callback):
            if folder.exists():
                shutil.copytree(folder, folder.with_name("then"))
            raise Broken

        with pytest.raises(Broken):
            fit(folder, [at(hook, which, vanish)], every=3, **options)
        shutil.rmtree(folder)
        if folder.with_name("then").exists():
            folder.with_name("then").rename(folder)
    else:
        kind = {"interrupted": KeyboardInterrupt, "failed": Broken}[way]
        with pytest.raises(kind):
            fit(folder, [at(hook, which, raising(kind))], **options)


_wholes = {}


def whole(tmp_path, **options):
    key = tuple(options.items())
    if key not in _wholes:
        _wholes[key] = fit(tmp_path / "whole", **options)
    return _wholes[key]


def check(tmp_path, way, hook, which, **options):
    end_early(tmp_path / "run", way, hook, which, **options)
    require_the_same(whole(tmp_path, **options), fit(tmp_path / "run", **options))


WAYS = ("stopped", "preempted", "interrupted", "failed", "gone")
QUICKER = [("preempted", "on_train_batch_end"), ("failed", "on_test_batch_end"), ("failed", "on_epoch_begin")]


@pytest.mark.parametrize(
    ("way", "hook"),
    [
        pytest.param(way, hook, marks=pytest.mark.broad if (way, hook) in QUICKER else pytest.mark.slow)
        for way in WAYS
        for hook in HOOKS
    ],
)
def test_it_goes_on_as_if_it_had_not_ended(tmp_path, way, hook):
    check(tmp_path, way, hook, HOOKS[hook])


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("hook", ["on_train_batch_end", "on_test_batch_end", "on_epoch_end"])
@pytest.mark.parametrize("options", [{"kind": Own}, {"steps": 2}, {"steps": 3}, {"kind": Own, "steps": 4}], ids=str)
def test_however_steps_are_run(tmp_path, way, hook, options):
    which = HOOKS[hook] if hook != "on_train_batch_end" else 3
    check(tmp_path, way, hook, which, **options)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"kind": Own}, {"steps": 3}], ids=str)
@pytest.mark.parametrize("last", [1, 6, 8, 15])
def test_at_a_step(tmp_path, last, options):
    fit(tmp_path / "run", [StopAtStep(last)], **options)
    require_the_same(whole(tmp_path, **options), fit(tmp_path / "run", **options))


@pytest.mark.broad
def test_a_run_that_is_asked_to_end_within_an_epoch_validates_and_logs_nothing_more(tmp_path):
    _, (epochs, history), counts, _ = fit(tmp_path, [at("on_train_batch_end", 6, preempt)], on_preemption=True)
    assert (epochs, len(history["val_loss"]), counts["tests_begun"]) == ([0], 1, 1)


def test_a_session_whose_epoch_could_not_be_ended_ends_it_once(tmp_path):
    def train(fails):
        w, optimizer = gx.Variable([4.0], name="w"), gx.optimizers.SGD(0.1)
        optimizer.build([w])

        class Halve(gx.Callback):
            def on_epoch_end(self, epoch, logs=None):
                optimizer.learning_rate = float(optimizer.learning_rate) / 2

        callbacks = [Halve(), *([at("on_epoch_end", 2, raising(Broken))] if fails else []), ModelCheckpoint(tmp_path)]
        with gx.training.session(callbacks, resume=tmp_path, w=w, optimizer=optimizer) as run:
            while run.epoch < 3:
                while run.steps < 2 * (run.epoch + 1):
                    run.step(lambda: w.assign(w / 2))
                run.end_epoch()
        return w.numpy().tolist(), float(optimizer.learning_rate)

    with pytest.raises(Broken):
        train(fails=True)
    assert train(fails=False) == ([4.0 / 2**6], pytest.approx(0.0125))
