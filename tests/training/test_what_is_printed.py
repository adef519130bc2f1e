"""Summaries of models, and what fit prints."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.core.errors import NotBuiltError
from tests.training.lines import X, Y, line


def test_kl25_summary_of_an_unbuilt_model(capsys):
    model = gx.Sequential([layers.Dense(3)])
    model.summary()
    shown = capsys.readouterr().out
    assert "?" in shown
    assert "parameters: 0" in shown
    assert model.variables == []
    with pytest.raises(NotBuiltError, match="call it"):
        model.count_params()


def test_summary_counts(capsys):
    model = gx.Sequential([layers.Dense(3), layers.BatchNormalization()])
    model(np.ones((2, 4), "float32"))
    model.layers[0].trainable = False
    model.summary()
    shown = capsys.readouterr().out
    assert "layers/0 (Dense)" in shown
    assert "(None, 3)" in shown
    assert "frozen" in shown
    assert "parameters: 27 (108 bytes)" in shown
    assert "trainable 6, not trainable 21" in shown
    assert model.count_params() == 27


@pytest.mark.broad
def test_verbose(capsys):
    line().fit(X, Y, epochs=2, verbose=0)
    assert capsys.readouterr().out == ""
    line().fit(X, Y, epochs=2, validation_data=(X, Y), verbose=2)
    out = capsys.readouterr().out.splitlines()
    assert len(out) == 2
    assert "epoch 2/2" in out[1]
    assert "val_loss 6" in out[1]
    line().evaluate(X, Y, verbose=2)
    assert "loss 6" in capsys.readouterr().out
