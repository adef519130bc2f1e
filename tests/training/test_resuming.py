"""A run that is killed anywhere and resumed is the unbroken run: weights, slots, numbers, callbacks and data."""

import shutil

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.callbacks import EarlyStopping, LambdaCallback, ModelCheckpoint, ReduceLROnPlateau
from graftax.core.errors import ArgumentError, ArgumentTypeError, DataError, MatchError, StateError
from tests.training.lines import X, Y, line

DRAW = np.random.default_rng(0)
A = DRAW.normal(size=(20, 3)).astype("float32")
B = (A[:, :1] * 2 + 1).astype("float32")


def make(**options):
    gx.set_random_seed(5)
    model = gx.Sequential([layers.Dense(4, activation="tanh"), layers.Dropout(0.3), layers.BatchNormalization()])
    model.add(layers.Dense(1))
    model.compile(gx.optimizers.Adam(0.05, ema_momentum=0.9), "mse", metrics=["mae"], **options)
    return model


class Samples:
    def __len__(self):
        return 20

    def __getitem__(self, i):
        return A[i], B[i]


def batches():
    return [(A[i : i + 4], B[i : i + 4]) for i in range(0, 20, 4)]


def endless():
    while True:
        yield from batches()


SOURCES = {
    "arrays": lambda: ((A, B), {"batch_size": 4}),
    "a piece of a pass": lambda: ((A, B), {"batch_size": 4, "steps_per_epoch": 3}),
    "samples": lambda: ((Samples(),), {"batch_size": 4}),
    "a list": lambda: ((batches(),), {}),
    "a generator": lambda: ((endless(),), {"steps_per_epoch": 4}),
    "buckets": lambda: ((gx.data.bucket(list(A), B, sizes=[3], batch_size=4),), {}),
    "ahead": lambda: ((gx.data.prefetch(gx.data.bucket(list(A), B, sizes=[3], batch_size=4)),), {}),
}


def kept(model):
    return {v.path: v.numpy() for v in [*model.variables, *model.optimizer.variables]}


class Killed(BaseException):
    """What a machine does not say."""


class Kill(gx.Callback):
    """Takes a copy of the folder as it is at a step, as a machine that stops would leave it, and ends the program."""

    def __init__(self, folder, copy, step):
        self.folder, self.copy, self.step = folder, copy, step

    def on_train_batch_end(self, batch, logs=None):
        if self.params["step"] == self.step:
            if self.folder.exists():
                shutil.copytree(self.folder, self.copy)
            raise Killed


def fit(folder, source="arrays", callbacks=(), epochs=3, model=None, **more):
    model = make() if model is None else model
    data, options = SOURCES[source]()
    save = ModelCheckpoint(folder, every=2)
    history = model.fit(*data, epochs=epochs, verbose=0, resume=folder, callbacks=[save, *callbacks], **options, **more)
    return model, history


def check_the_same(tmp_path, kill_at, source="arrays", make_callbacks=list, **more):
    whole = fit(tmp_path / "whole", source, make_callbacks(), **more)
    copy = tmp_path / "copy"
    with pytest.raises(Killed):
        fit(tmp_path / "killed", source, [*make_callbacks(), Kill(tmp_path / "killed", copy, kill_at)], **more)
    resumed = fit(copy, source, make_callbacks(), **more)
    first, second = kept(whole[0]), kept(resumed[0])
    assert first.keys() == second.keys()
    for path, value in first.items():
        np.testing.assert_array_equal(value, second[path], err_msg=path)
    assert whole[1].epoch == resumed[1].epoch
    assert whole[1].history == resumed[1].history


QUICK = ("arrays", "a generator")


@pytest.mark.broad
@pytest.mark.parametrize("source", [pytest.param(s, marks=() if s in QUICK else pytest.mark.slow) for s in SOURCES])
def test_need4_killed_in_the_middle_of_an_epoch(tmp_path, source):
    check_the_same(tmp_path, 8, source)


@pytest.mark.parametrize("kill_at", [5, *(pytest.param(k, marks=pytest.mark.slow) for k in (1, 2, 3, 6, 10, 11, 15))])
def test_need4_killed_at_any_step(tmp_path, kill_at):
    check_the_same(tmp_path, kill_at)


@pytest.mark.broad
def test_need4_with_callbacks_and_validation(tmp_path):
    def callbacks():
        return [
            EarlyStopping("val_loss", patience=2, restore_best_weights=True),
            ReduceLROnPlateau("val_loss", patience=1, min_delta=10.0, factor=0.5),
        ]

    check_the_same(tmp_path, 12, make_callbacks=callbacks, validation_data=(A, B))


@pytest.mark.broad
@pytest.mark.parametrize(
    "options", [{"steps_per_execution": 2}, pytest.param({"run_eagerly": True}, marks=pytest.mark.slow)]
)
def test_need4_however_steps_are_run(tmp_path, options):
    data, more = SOURCES["arrays"]()
    runs = []
    for name in ("whole", "broken"):
        folder = tmp_path / name
        for epochs in (3,) if name == "whole" else (1, 3):  # a run of one epoch, and one that goes on
            model = make(**options)
            history = model.fit(
                *data, epochs=epochs, verbose=0, resume=folder, callbacks=[ModelCheckpoint(folder)], **more
            )
        runs.append((kept(model), history.history))
    assert runs[0][1] == runs[1][1]
    for path, value in runs[0][0].items():
        np.testing.assert_array_equal(value, runs[1][0][path], err_msg=path)


@pytest.mark.broad
def test_need4_a_train_step_of_ones_own(tmp_path):
    class Own(gx.Model):
        def __init__(self):
            super().__init__()
            self.dense = layers.Dense(1)
            self.tracker = gx.metrics.Mean(name="own")

        def call(self, x):
            return self.dense(x)

        def train_step(self, batch):
            x, y = batch
            loss = self.optimizer.minimize(lambda: gx.ops.mean((self(x) - y) ** 2), self.trainable_variables)
            self.tracker.update(loss)
            return {"loss": self.tracker.result()}

    def made():
        gx.set_random_seed(5)
        model = Own()
        model.compile("adam")
        return model

    whole = fit(tmp_path / "whole", model=made())
    with pytest.raises(Killed):
        fit(tmp_path / "killed", callbacks=[Kill(tmp_path / "killed", tmp_path / "copy", 8)], model=made())
    resumed = fit(tmp_path / "copy", model=made())
    assert whole[1].history == resumed[1].history


@pytest.mark.broad
def test_a_callback_that_fails_at_the_end_of_an_epoch_costs_nothing(tmp_path):
    class Full(gx.Callback):
        def on_epoch_end(self, epoch, logs=None):
            if epoch == 1:
                raise OSError("no space")

    whole = fit(tmp_path / "whole", callbacks=[EarlyStopping("loss", patience=9)])
    with pytest.raises(OSError, match="no space"):
        fit(tmp_path / "full", callbacks=[EarlyStopping("loss", patience=9), Full()])
    resumed = fit(tmp_path / "full", callbacks=[EarlyStopping("loss", patience=9)])
    assert whole[1].history == resumed[1].history
    for path, value in kept(whole[0]).items():
        np.testing.assert_array_equal(value, kept(resumed[0])[path], err_msg=path)


@pytest.mark.slow
def test_a_run_that_was_over_is_over(tmp_path):
    model, history = fit(tmp_path / "run")
    again, other = fit(tmp_path / "run")
    assert other.history == history.history
    assert int(again.optimizer.iterations) == int(model.optimizer.iterations) == 15
    stop = [EarlyStopping("loss", patience=0, min_delta=100.0)]
    first = fit(tmp_path / "stopped", callbacks=stop)[1].epoch
    assert fit(tmp_path / "stopped", callbacks=[EarlyStopping("loss", patience=0, min_delta=100.0)])[1].epoch == first


@pytest.mark.slow
def test_more_epochs_go_on(tmp_path):
    fit(tmp_path / "run", epochs=2)
    _, history = fit(tmp_path / "run", epochs=4)
    assert history.epoch == [0, 1, 2, 3]
    assert history.history == fit(tmp_path / "whole", epochs=4)[1].history


@pytest.mark.broad
def test_saves_that_compete_are_those_after_a_validation(tmp_path):
    save = ModelCheckpoint(tmp_path, every=2, keep=2, monitor="val_loss", keep_best=1)
    history = line(0.01).fit(X, Y, batch_size=1, epochs=4, validation_data=(X, Y), verbose=0, callbacks=[save]).history
    manager = gx.CheckpointManager(tmp_path, keep=2, keep_best=1, monitor="val_loss")
    assert manager.best().metrics["val_loss"] == pytest.approx(min(history["val_loss"]))
    assert [record.step for record in manager.all()] == [18, 20]
    with pytest.raises(DataError, match="val_loss"):
        line().fit(X, Y, verbose=0, callbacks=[ModelCheckpoint(tmp_path / "b", monitor="val_loss")])


@pytest.mark.broad
def test_a_manager_of_ones_own(tmp_path):
    model = line(0.1)
    manager = gx.CheckpointManager(tmp_path, keep=1, model=model)
    model.fit(X, Y, epochs=3, verbose=0, callbacks=[ModelCheckpoint(manager, in_background=True)])
    assert [record.step for record in manager.all()] == [3]
    before = model.variables[0].numpy()
    model.fit(X, Y, epochs=2, verbose=0)
    gx.Checkpoint(model=model).restore(manager.latest().path, mode="overlap")
    np.testing.assert_array_equal(model.variables[0].numpy(), before)


@pytest.mark.broad
def test_a_directory_with_a_run_that_is_further_on_is_refused(tmp_path):
    fit(tmp_path / "run")
    with pytest.raises(StateError, match="step 15, and this run is at step 0") as caught:
        make().fit(A, B, verbose=0, callbacks=[ModelCheckpoint(tmp_path / "run")])
    assert "resume=" in str(caught.value)


@pytest.mark.broad
def test_what_remembered_something_is_missed(tmp_path):
    fit(tmp_path / "run", callbacks=[EarlyStopping("loss", patience=5)])
    with pytest.raises(StateError, match="EarlyStopping"):
        fit(tmp_path / "run")


@pytest.mark.broad
def test_other_data_and_other_models_are_refused(tmp_path):
    fit(tmp_path / "run")
    options = {"epochs": 4, "verbose": 0, "resume": tmp_path / "run"}
    with pytest.raises(DataError, match="20 rows, resumed with 19"):
        make().fit(A[:19], B[:19], batch_size=4, **options)
    with pytest.raises(StateError, match="IterableSource"):
        make().fit(batches(), **options)
    other = gx.Sequential([layers.Dense(1)])
    other.compile("adam", "mse")
    with pytest.raises(MatchError):
        other.fit(A, B, batch_size=4, **options)


@pytest.mark.parametrize("wrong", [3, ["run"]])
def test_resume_takes_a_directory_or_a_manager(wrong):
    with pytest.raises(ArgumentTypeError, match="CheckpointManager"):
        line().fit(X, Y, verbose=0, resume=wrong)
    with pytest.raises(ArgumentError, match="without initial_epoch"):
        line().fit(X, Y, verbose=0, resume="nowhere", initial_epoch=0 + 1, epochs=2)


@pytest.mark.broad
def test_the_system_asks_the_program_to_end(tmp_path):
    import os
    import signal

    ask = LambdaCallback(on_train_batch_end=lambda batch, logs: batch == 6 % 5 and os.kill(os.getpid(), signal.SIGTERM))
    model = make()
    save = ModelCheckpoint(tmp_path, on_preemption=True)
    model.fit(A, B, batch_size=4, epochs=9, verbose=0, callbacks=[ask, save])
    assert save.preempted
    assert gx.CheckpointManager(tmp_path).latest().step == int(model.optimizer.iterations) == 2
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


@pytest.mark.broad
def test_goal_is_mode_by_another_name(tmp_path):
    for options in ({"goal": "max"}, {"mode": "max"}, {"mode": "auto", "monitor": "val_accuracy"}):
        made = gx.callbacks.ModelCheckpoint(tmp_path, **{"monitor": "quality", **options})
        assert made.monitor.mode == "max"
    with pytest.raises(ArgumentError, match="two names of one setting"):
        gx.callbacks.ModelCheckpoint(tmp_path, monitor="quality", goal="max", mode="max")
    with pytest.raises(ArgumentError, match=r"ModelCheckpoint\(\.\.\., monitor='quality', goal=\"max\"\)"):
        gx.callbacks.ModelCheckpoint(tmp_path, monitor="quality")
    with pytest.raises(ArgumentError, match="goal='up'"):
        gx.callbacks.ModelCheckpoint(tmp_path, monitor="quality", goal="up")
    with pytest.raises(ArgumentError, match="mode='up'"):
        gx.callbacks.ModelCheckpoint(tmp_path, monitor="quality", mode="up")
    with pytest.raises(ArgumentTypeError, match="instead: mode='max'"):
        gx.callbacks.EarlyStopping("quality", goal="max")
    for name in ("goal", "mode"):
        with pytest.raises(ArgumentError, match=f"{name}='min' without monitor="):
            gx.callbacks.ModelCheckpoint(tmp_path, **{name: "min"})


@pytest.mark.broad
def test_an_optimizer_that_a_callback_has_changed_is_told(tmp_path):
    def train(epochs):
        model = gx.Sequential([gx.layers.Dense(1)])
        model.compile("adam", "mse")

        def swap(epoch, logs):
            if epoch == 1:
                model.compile(gx.optimizers.SGD(0.1, momentum=0.9), "mse")

        callbacks = [gx.callbacks.LambdaCallback(on_epoch_begin=swap), gx.callbacks.ModelCheckpoint(tmp_path)]
        x = np.ones((4, 2), "float32")
        model.fit(x, x[:, :1], epochs=epochs, verbose=0, resume=tmp_path, callbacks=callbacks)

    train(2)
    with pytest.raises(gx.errors.MatchError, match="called compile or gx.graft, the same calls in the program"):
        train(3)


class Unfreezing(gx.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        if epoch == 1:
            self.model.layers[0].trainable = True


def test_what_a_callback_unfroze_is_resumed_without_a_warning(tmp_path):
    def run(kill=None):
        model = gx.Sequential([layers.Dense(2), layers.Dense(1)])
        model.build_for(A)
        model.layers[0].trainable = False
        model.compile("sgd", "mse")

        def stop(batch, logs):
            if int(model.optimizer.iterations) == kill:
                raise KeyboardInterrupt

        last = LambdaCallback(on_train_batch_end=stop)
        callbacks = [Unfreezing(), ModelCheckpoint(tmp_path / "run", every=1), last]
        model.fit(A, B, epochs=4, batch_size=4, verbose=0, resume=tmp_path / "run", callbacks=callbacks)
        return model

    with pytest.raises(KeyboardInterrupt):
        run(kill=13)
    assert run().layers[0].trainable  # warnings are errors here
