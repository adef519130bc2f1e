"""What a subclass of a built-in callback adds goes on in a run that is resumed."""

import numpy as np
import pytest

import graftax as gx
from tests.training.hooks.test_plain_attributes import X, check_told, kill_and_resume, train


class Notes(gx.callbacks.EarlyStopping):
    """It stops as its base does, and counts for itself."""

    def __init__(self, patience=9):
        super().__init__("loss", patience=patience)
        self.seen, self.note, self.limit = [], None, 0.5

    def on_epoch_end(self, epoch, logs=None):
        super().on_epoch_end(epoch, logs)
        self.seen.append(float(logs["loss"]))
        self.note = f"epoch {epoch}"


class Schedules(gx.callbacks.LearningRateScheduler):
    """Its base remembers nothing."""

    def __init__(self):
        super().__init__(lambda epoch, rate: rate)
        self.epochs = 0

    def on_epoch_end(self, epoch, logs=None):
        super().on_epoch_end(epoch, logs)
        self.epochs += 1


class Fills(Notes):
    def __init__(self):
        super().__init__()
        self.window = set()

    def on_epoch_end(self, epoch, logs=None):
        super().on_epoch_end(epoch, logs)
        self.window.add(epoch)


class Says(Notes):
    """It says all by itself, with what its base says."""

    def get_state(self):
        return {**super().get_state(), "note": self.note}

    def set_state(self, state):
        super().set_state(state)
        self.note = state["note"]


def test_what_a_subclass_adds_goes_on_beside_what_its_base_says(tmp_path):
    """It began anew, without a word."""
    whole = train(tmp_path / "whole", Notes())
    resumed = kill_and_resume(tmp_path / "broken", Notes, patience=7)
    assert resumed.seen == pytest.approx(whole.seen)
    assert len(resumed.seen) == 4
    assert resumed.note == "epoch 3"
    assert (resumed.best, resumed.best_epoch) == (pytest.approx(whole.best), whole.best_epoch)
    assert (resumed.patience, resumed.limit) == (7, 0.5)  # settings are those of the present run


@pytest.mark.broad
def test_a_base_that_says_nothing(tmp_path):
    assert kill_and_resume(tmp_path, Schedules).epochs == 4


@pytest.mark.broad
def test_what_cannot_be_saved_is_told(tmp_path):
    assert len(check_told(tmp_path, Fills, "window (set)").seen) == 4


@pytest.mark.broad
def test_a_subclass_that_says_its_state_is_asked_alone(tmp_path):
    resumed = kill_and_resume(tmp_path, Says)
    assert resumed.note == "epoch 3"
    assert len(resumed.seen) == 2


def test_a_checkpoint_of_before_is_taken(tmp_path):
    """One without attributes of the subclass, as of an earlier version."""
    model = gx.Sequential([gx.layers.Dense(1)])
    model.compile(gx.optimizers.SGD(0.1), "mse")
    notes = Notes()
    model.fit(X, X[:, :1], epochs=1, verbose=0, callbacks=[notes])
    state = gx.callbacks.EarlyStopping.get_state(notes)
    from_before = gx.training.hooks.own_attributes.OwnAttributes(other := Notes())
    other.model = model
    from_before.set_state(state)
    assert other.best == np.float32(notes.best)
    assert other.seen == []
