"""What a History shows where it is the last line of a cell of a notebook."""

from graftax.training.hooks.history import History


def test_a_history_shows_its_last_numbers():
    history = History()
    assert repr(history) == "<History of 0 epochs>"
    history.on_epoch_end(0, {"loss": 0.5, "val_loss": 1.0})
    history.on_epoch_end(1, {"loss": 0.123456, "val_loss": 2.0})
    assert repr(history) == "<History of 2 epochs: loss 0.1235, val_loss 2>"
