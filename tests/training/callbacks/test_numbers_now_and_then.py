"""A number that only some epochs have: watched where it is, left out where it is not, missed where it never was."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax import callbacks
from graftax.core.errors import DataError

X = np.ones((4, 2), "float32")


class Score(gx.Callback):
    """Gives a number at the end of some epochs."""

    def __init__(self, scores: dict[int, float]) -> None:
        super().__init__()
        self.scores = scores

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if epoch in self.scores:
            logs["bleu"] = self.scores[epoch]


def fitted(*given: gx.Callback, epochs: int = 8, model: Any = None, **options: Any) -> gx.Model:
    if model is None:
        model = gx.Sequential([gx.layers.Dense(1, kernel_initializer="zeros")])
        model.compile(gx.optimizers.SGD(0.1), "mse")
    model.fit(X, X[:, :1], epochs=epochs, verbose=0, callbacks=list(given), **options)
    return model


def test_early_stopping_counts_the_epochs_that_have_it() -> None:
    stop = callbacks.EarlyStopping("bleu", patience=2)
    fitted(Score({0: 0.1, 3: 0.05, 6: 0.05}), stop)
    assert (stop.best_epoch, stop.stopped_epoch) == (0, 6)


def test_it_may_begin_where_the_watching_begins() -> None:
    stop = callbacks.EarlyStopping("bleu", patience=1, start_from_epoch=3)
    fitted(Score({3: 0.2, 5: 0.1}), stop)
    assert (stop.best_epoch, stop.stopped_epoch) == (3, 5)


@pytest.mark.slow
def test_the_plateau_counts_the_epochs_that_have_it() -> None:
    model = fitted(Score({0: 0.2, 4: 0.1}), callbacks.ReduceLROnPlateau("bleu", factor=0.5, patience=1))
    assert float(model.optimizer.learning_rate) == pytest.approx(0.05)


@pytest.mark.slow
def test_only_checkpoints_of_such_epochs_compete(tmp_path: Path) -> None:
    save = callbacks.ModelCheckpoint(tmp_path, monitor="bleu", goal="max", keep=1, keep_best=1)
    fitted(Score({0: 0.1, 3: 0.3, 6: 0.2}), save, epochs=7)
    assert [record.step for record in gx.CheckpointManager(str(tmp_path)).all()] == [4, 7]


@pytest.mark.slow
def test_a_run_that_goes_on_between_two_of_them(tmp_path: Path) -> None:
    def run(epochs: int) -> callbacks.EarlyStopping:
        stop = callbacks.EarlyStopping("bleu", patience=2)
        save = callbacks.ModelCheckpoint(tmp_path, monitor="bleu", goal="max")
        fitted(Score({0: 0.3, 3: 0.1, 6: 0.1}), stop, save, epochs=epochs, resume=tmp_path)
        return stop

    run(2)
    assert run(8).stopped_epoch == 6


@pytest.mark.in_turn(2)
@pytest.mark.parametrize(
    "watch",
    [
        lambda path: callbacks.EarlyStopping("bleu"),
        lambda path: callbacks.ReduceLROnPlateau("bleu"),
        lambda path: callbacks.ModelCheckpoint(path, monitor="bleu", goal="max"),
    ],
)
def test_one_that_the_first_epoch_lacks_is_missed(watch: Any, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="from the first epoch on"):
        fitted(Score({1: 0.5}), watch(tmp_path))


def test_one_that_comes_after_who_watches_is_missed() -> None:
    with pytest.raises(DataError, match="an earlier callback"):
        fitted(callbacks.EarlyStopping("bleu"), Score({0: 0.5}))


@pytest.mark.broad
def test_each_fit_misses_anew() -> None:
    stop = callbacks.EarlyStopping("bleu")
    model = fitted(Score({0: 0.5}), stop, epochs=1)
    with pytest.raises(DataError, match="bleu"):
        fitted(stop, epochs=1, model=model)


@pytest.mark.slow
def test_a_file_of_numbers_has_a_column_for_it(tmp_path: Path) -> None:
    fitted(Score({0: 0.5, 2: 0.25}), callbacks.CSVLogger(str(tmp_path / "log.csv")), epochs=3)
    lines = (tmp_path / "log.csv").read_text().splitlines()
    place = lines[0].split(",").index("bleu")
    assert [line.split(",")[place] for line in lines[1:]] == ["0.5", "", "0.25"]
