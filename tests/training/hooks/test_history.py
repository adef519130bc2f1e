"""What a History shows where it is the last line of a cell of a notebook."""

import pytest

import graftax as gx
from graftax.training.hooks.history import History
from tests.training.lines import X, Y, line


def test_it_says_which_epochs_a_number_belongs_to():
    history = line(0.1).fit(X, Y, epochs=6, validation_data=(X, Y), validation_freq=3, verbose=0)
    assert history.epochs == {"loss": [*range(6)], "learning_rate": [*range(6)], "val_loss": [2, 5]}
    again = History()
    again.set_state(history.get_state())
    assert (again.history, again.epoch, again.epochs) == (history.history, history.epoch, history.epochs)
    figures = pytest.importorskip("matplotlib.figure")
    figure = gx.plot_history(history, ["loss"])
    assert isinstance(figure, figures.Figure)
    assert [curve.get_xdata().tolist() for curve in figure.axes[0].get_lines()] == [[1, 2, 3, 4, 5, 6], [3, 6]]


def test_a_history_shows_its_last_numbers():
    history = History()
    assert repr(history) == "<History of 0 epochs>"
    history.on_epoch_end(0, {"loss": 0.5, "val_loss": 1.0})
    history.on_epoch_end(1, {"loss": 0.123456, "val_loss": 2.0})
    assert repr(history) == "<History of 2 epochs: loss 0.1235, val_loss 2>"
