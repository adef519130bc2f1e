"""plot_history, memory_report, Profiler."""

import gzip
import json

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.callbacks import Profiler
from graftax.core.errors import ArgumentError, ArgumentTypeError, StateError
from tests.training.lines import X, Y, line


@pytest.mark.broad
def test_curves_of_training_and_validation_share_axes(tmp_path):
    pytest.importorskip("matplotlib")
    history = line(0.1, metrics=["mae"]).fit(X, Y, epochs=3, validation_data=(X, Y), verbose=0)
    figure = gx.plot_history(history, ["loss", "mae"])
    assert [axes.get_ylabel() for axes in figure.axes] == ["loss", "mae"]
    curves = figure.axes[0].get_lines()
    np.testing.assert_allclose(curves[0].get_ydata(), history.history["loss"])
    np.testing.assert_allclose(curves[1].get_ydata(), history.history["val_loss"])
    assert curves[0].get_xdata().tolist() == [1, 2, 3]
    figure.savefig(tmp_path / "history.png")
    assert len(gx.plot_history(history).axes) == 3
    with pytest.raises(ArgumentError, match="'loss'"):
        gx.plot_history(history, ["los"])
    with pytest.raises(ArgumentError, match="no epoch"):
        gx.plot_history({})
    with pytest.raises(ArgumentTypeError, match="fit returned"):
        gx.plot_history([1.0])


def test_memory_is_told_before_a_step_is_run():
    model = gx.Sequential([layers.Dense(3)])
    model.compile("adam", "mse", metrics=["mae"])
    report = gx.memory_report(model, (np.ones((8, 4), "float32"), np.ones((8, 3), "float32")))
    assert (report.weights, report.batch) == (60, 8 * 7 * 4)
    assert report.slots >= 2 * 60
    assert report.peak >= report.weights + report.slots + report.batch
    assert "optimizer" in str(report)
    assert int(model.optimizer.iterations) == 0
    with pytest.raises(StateError, match="not compiled"):
        gx.memory_report(gx.Sequential([layers.Dense(3)]), X)


@pytest.mark.slow
def test_a_trace_of_some_steps_opens_in_perfetto(tmp_path):
    profiler = Profiler(tmp_path, first_step=2, steps=2)
    line(0.1).fit(X, Y, batch_size=1, verbose=0, callbacks=[profiler])
    assert json.loads(gzip.decompress(profiler.trace.read_bytes()))["traceEvents"]
    with pytest.raises(ArgumentError, match="steps"):
        Profiler(steps=0)


@pytest.mark.slow
def test_a_trace_of_steps_that_are_run_together(tmp_path):
    profiler = Profiler(tmp_path, first_step=2, steps=1)  # begins in the middle of a run
    line(0.1, steps_per_execution=2).fit(X, Y, batch_size=1, verbose=0, callbacks=[profiler])
    assert profiler.trace is not None
