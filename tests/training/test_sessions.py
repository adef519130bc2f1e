"""Sessions: hooks, checkpoints and recovery around a loop of one's own."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.callbacks import CSVLogger, EarlyStopping, ModelCheckpoint, ReduceLROnPlateau, StopAtStep
from graftax.core.errors import ArgumentError

X = np.random.default_rng(0).normal(size=(8, 3)).astype("float32")


def parts():
    gx.set_random_seed(1)
    model = gx.Sequential([layers.Dense(2), layers.Dropout(0.5)])
    optimizer = gx.optimizers.Adam(0.1)
    model(X)

    @gx.jit
    def train(x):
        return optimizer.minimize(lambda: ops.mean(model(x, training=True) ** 2), model.trainable_variables)

    return model, optimizer, train


class Log(gx.Callback):
    def __init__(self, name, seen):
        self.name, self.seen = name, seen

    def on_train_begin(self, logs=None):
        self.seen.append(f"begin {self.name}")

    def on_train_batch_begin(self, batch, logs=None):
        self.seen.append(f"before {self.name}{batch}")

    def on_train_batch_end(self, batch, logs=None):
        self.seen.append(f"after {self.name}{batch}")

    def on_train_end(self, logs=None):
        self.seen.append(f"end {self.name}")


def test_hk1_and_hk10_hooks_run_in_list_order_and_end_after_a_request():
    seen = []
    with gx.training.session([Log("A", seen), Log("B", seen)]) as run:
        while not run.should_stop:
            run.step(lambda: seen.append("run"))
            run.request_stop()
    assert seen == [
        *("begin A", "begin B", "before A0", "before B0", "run", "after A0", "after B0"),
        *("end A", "end B"),
    ]


def test_hk2_after_an_error_there_is_no_end():
    seen = []

    def fail():
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"), gx.training.session([Log("A", seen)]) as run:
        run.step(fail)
    assert seen == ["begin A", "before A0"]


def loop(folder, epochs, callbacks=(), kill_at=None):
    model, optimizer, train = parts()
    save = ModelCheckpoint(folder, every=2)
    with gx.training.session([save, *callbacks], resume=folder, model=model, optimizer=optimizer) as run:
        while not run.should_stop and run.epoch < epochs:
            for _ in range(run._state.index, 3):
                loss = run.step(train, X)
                if run.steps == kill_at:
                    raise KeyboardInterrupt
            run.end_epoch({"loss": loss})
    return model, run


@pytest.mark.broad
def test_hk5_a_session_that_is_interrupted_goes_on_to_the_same_bits(tmp_path):
    def callbacks():
        return [EarlyStopping("loss", patience=9, restore_best_weights=True), CSVLogger(tmp_path / "log.csv")]

    whole, first = loop(tmp_path / "whole", 3, callbacks())
    with pytest.raises(KeyboardInterrupt):
        loop(tmp_path / "broken", 3, callbacks(), kill_at=5)
    resumed, second = loop(tmp_path / "broken", 3, callbacks())
    for one, other in zip(whole.variables, resumed.variables, strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy())
    assert first.history.history == second.history.history
    assert [record.step for record in gx.CheckpointManager(tmp_path / "whole").all()] == [2, 4, 6, 8, 9]
    assert len((tmp_path / "log.csv").read_text().splitlines()) == 4
    assert "learning_rate" in (tmp_path / "log.csv").read_text()


@pytest.mark.broad
def test_hk3_and_hk4_steps_are_counted_over_runs(tmp_path):
    _, run = loop(tmp_path, 9, [StopAtStep(last_step=3)])
    assert run.steps == 3
    _, run = loop(tmp_path, 9, [StopAtStep(last_step=3)])
    assert run.steps == 3
    _, run = loop(tmp_path, 9, [StopAtStep(num_steps=3)])
    assert run.steps == 6


@pytest.mark.broad
def test_callbacks_find_the_optimizer_and_the_model():
    model, optimizer, train = parts()
    slower = ReduceLROnPlateau("loss", factor=0.5, patience=1, min_delta=100.0)
    with gx.training.session([slower], model=model, optimizer=optimizer) as run:
        assert run.layers is model.layers
        for _ in range(3):
            run.step(train, X)
            run.end_epoch({"loss": 1.0})
    assert run.history.history["learning_rate"] == pytest.approx([0.1, 0.1, 0.05])


def test_a_root_called_run_is_refused():
    with pytest.raises(ArgumentError, match="any other name"), gx.training.session(run=gx.Variable(1.0)):
        pass
