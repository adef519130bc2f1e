"""EarlyStopping: when it ends training, which weights come back, and what it refuses."""

import logging

import numpy as np
import pytest

import graftax as gx
from graftax.callbacks import EarlyStopping, LambdaCallback
from graftax.core.errors import ArgumentError, DataError
from tests.training.lines import X, Y, line


def fed(values, **options):
    """Run EarlyStopping over numbers that are told to it; the epochs that were run, and the callback."""
    callback = EarlyStopping("val_loss", **options)
    numbers = iter(values)
    tell = LambdaCallback(on_epoch_end=lambda epoch, logs: logs.update(val_loss=next(numbers)))
    history = line().fit(X, Y, epochs=len(values), verbose=0, callbacks=[tell, callback])
    return history.epoch, callback


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(
    ("values", "options", "epochs"),
    [
        ([1.0, 0.5, 0.6, 0.7, 0.8], {"patience": 2}, 4),
        ([1.0, 0.5, 0.6, 0.4, 0.8], {"patience": 2}, 5),
        ([1.0, 1.1, 1.2], {}, 2),
        ([1.0, 0.95, 0.9], {"min_delta": 0.2, "patience": 1}, 2),
        ([1.0, 0.9, 0.8, 0.7], {"baseline": 0.5, "patience": 2}, 4),
        ([1.0, 1.0, 1.0, 1.0], {"baseline": 0.5, "patience": 2}, 2),
        ([0.1, 0.2, 0.3, 0.4], {"mode": "max"}, 4),
        ([5.0, 6.0, 7.0, 8.0], {"start_from_epoch": 2, "patience": 1}, 4),
        ([float("nan"), float("nan"), float("nan")], {"patience": 1}, 2),
    ],
)
def test_when_training_ends(values, options, epochs):
    assert len(fed(values, **options)[0]) == epochs


@pytest.mark.broad
def test_ft29_best_weights_come_back_also_where_nothing_was_stopped():
    values = iter([3.0, 1.0, 2.0])
    steps = LambdaCallback(
        on_epoch_begin=lambda epoch, logs: model.variables[0].assign([[float(epoch)]]),
        on_epoch_end=lambda epoch, logs: logs.update(val_loss=next(values)),
    )
    model = line()
    model(X)
    model.fit(X, Y, epochs=3, verbose=0, callbacks=[steps, EarlyStopping(patience=9, restore_best_weights=True)])
    np.testing.assert_array_equal(model.variables[0].numpy(), [[1.0]])


def test_ft27_a_name_that_tells_no_direction_is_refused_at_once():
    with pytest.raises(ArgumentError, match="mode="):
        EarlyStopping("val_something")
    assert EarlyStopping("val_something", mode="max").monitor.mode == "max"


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        ("val_loss", "min"),
        ("accuracy", "max"),
        ("val_sparse_categorical_accuracy", "max"),
        ("mae", "min"),
        ("val_f1_score", "max"),
        ("head_mse", "min"),
        ("root_mean_squared_error", "min"),
        ("val_auc", "max"),
        ("val_brier_score", "min"),
        ("fid_score", "min"),
        ("sparse_categorical_crossentropy", "min"),
    ],
)
def test_directions_by_name(name, mode):
    assert EarlyStopping(name).monitor.mode == mode


@pytest.mark.broad
def test_ft27_a_number_that_never_appears_raises_after_the_first_epoch():
    done = []
    count = LambdaCallback(on_epoch_end=lambda epoch, logs: done.append(epoch))
    with pytest.raises(DataError, match="validation_data"):
        line().fit(X, Y, epochs=5, verbose=0, callbacks=[count, EarlyStopping("val_loss")])
    assert done == [0]
    with pytest.raises(DataError, match="monitor='loss'"):
        line().fit(X, Y, epochs=5, validation_data=(X, Y), verbose=0, callbacks=[EarlyStopping("train_loss")])


@pytest.mark.broad
def test_epochs_without_validation_do_not_count():
    stop = EarlyStopping("val_loss", patience=1)
    history = line().fit(X, Y, epochs=8, validation_data=(X, Y), validation_freq=2, verbose=0, callbacks=[stop])
    assert len(history.epoch) == 4  # validated after the second and the fourth


def test_a_second_fit_starts_over():
    stop = EarlyStopping("loss", patience=2)
    model = line()
    lengths = [len(model.fit(X, Y, epochs=9, verbose=0, callbacks=[stop]).epoch) for _ in range(2)]
    assert lengths == [3, 3]


def test_wrong_numbers_are_refused():
    with pytest.raises(ArgumentError, match="patience"):
        EarlyStopping(patience=-1)
    with pytest.raises(gx.errors.ArgumentTypeError, match="patience"):
        EarlyStopping(patience="3")


@pytest.mark.broad
def test_its_state_goes_on():
    first = fed([1.0, 0.5, 0.6], patience=9, restore_best_weights=True)[1]
    other = EarlyStopping("val_loss", patience=9, restore_best_weights=True)
    other.set_state(first.get_state())
    assert (other.best, other.best_epoch, other.wait) == (0.5, 1, 1)
    np.testing.assert_array_equal(other.best_weights[0], [[1.0]])


def resumed(folder, patience, epochs=12):
    """Run a line whose loss cannot improve enough; the number of epochs in the history, and the weights."""
    gx.set_random_seed(5)
    model = line()
    stop = EarlyStopping("loss", min_delta=1e6, patience=patience)
    history = model.fit(
        X, Y, epochs=epochs, verbose=0, resume=folder, callbacks=[stop, gx.callbacks.ModelCheckpoint(folder)]
    )
    return len(history.epoch), [v.numpy().tolist() for v in model.variables]


def test_a_run_that_was_stopped_goes_on_with_more_patience(tmp_path):
    assert resumed(tmp_path / "short", 2)[0] == 3
    assert resumed(tmp_path / "short", 5) == resumed(tmp_path / "whole", 5)
    assert resumed(tmp_path / "whole", 5)[0] == 6


@pytest.mark.parametrize(("patience", "epochs"), [(2, 12), (1, 12), (2, 30)])
def test_a_run_that_was_stopped_stays_stopped_and_says_so(patience, epochs, tmp_path, caplog):
    before = resumed(tmp_path, 2)
    with caplog.at_level(logging.INFO, "graftax"):
        assert resumed(tmp_path, patience, epochs) == before
    told = "nothing left to do: epoch 3 ended the run that is resumed; patience=3 or more goes on"
    assert caplog.text.count(told) == 1
