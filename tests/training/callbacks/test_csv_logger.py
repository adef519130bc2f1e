"""CSVLogger: a table that is never half, goes on, and grows columns."""

import csv
import errno
from pathlib import Path

import pytest

import graftax as gx
from graftax.callbacks import CSVLogger, LambdaCallback
from graftax.core.errors import ArgumentError, LogError
from tests.training.lines import X, Y, line


def table(path, separator=","):
    with Path(path).open(newline="") as file:
        return list(csv.DictReader(file, delimiter=separator))


def test_a_line_is_there_when_its_epoch_ends(tmp_path):
    path, sizes = tmp_path / "deep" / "log.csv", []
    count = LambdaCallback(on_epoch_end=lambda epoch, logs: sizes.append(len(table(path))))
    history = line(0.1).fit(X, Y, epochs=3, verbose=0, callbacks=[CSVLogger(path), count]).history
    assert sizes == [1, 2, 3]
    assert [int(row["epoch"]) for row in table(path)] == [0, 1, 2]
    assert [float(row["loss"]) for row in table(path)] == history["loss"]


@pytest.mark.broad
def test_a_column_that_comes_later_is_not_lost(tmp_path):
    path = tmp_path / "log.csv"
    line().fit(
        X, Y, epochs=2, validation_data=(X, Y), validation_freq=2, verbose=0, callbacks=[CSVLogger(path, separator=";")]
    )
    rows = table(path, ";")
    assert [row["val_loss"] for row in rows] == ["", "6.0"]


@pytest.mark.broad
def test_a_new_run_begins_a_new_table_unless_told(tmp_path):
    path = tmp_path / "log.csv"
    for append, lines in ((False, 1), (False, 1), (True, 2)):
        line().fit(X, Y, verbose=0, callbacks=[CSVLogger(path, append=append)])
        assert len(table(path)) == lines


@pytest.mark.broad
def test_a_run_that_resumes_writes_again_what_came_after_its_state(tmp_path):
    path, log, states = tmp_path / "log.csv", None, []
    log = CSVLogger(path)
    keep = LambdaCallback(on_epoch_end=lambda epoch, logs: states.append(log.get_state()))
    line().fit(X, Y, epochs=3, verbose=0, callbacks=[log, keep])
    resumed = CSVLogger(path)
    resume = LambdaCallback(on_train_begin=lambda logs: resumed.set_state(states[1]))
    line().fit(X, Y, initial_epoch=2, epochs=4, verbose=0, callbacks=[resumed, resume])
    assert [int(row["epoch"]) for row in table(path)] == [0, 1, 2, 3]


@pytest.mark.broad
def test_a_run_that_resumes_before_a_column_came_keeps_every_line(tmp_path):
    path, whole, states = tmp_path / "log.csv", tmp_path / "whole.csv", []
    validated = {"epochs": 6, "validation_data": (X, Y), "validation_freq": 4, "verbose": 0}
    log = CSVLogger(path)
    keep = LambdaCallback(on_epoch_end=lambda epoch, logs: states.append(log.get_state()))
    line(0.1).fit(X, Y, callbacks=[log, keep, CSVLogger(whole)], **validated)
    for epoch, state in enumerate(states):
        path.write_bytes(whole.read_bytes())  # as a run left it that went on after the state was saved
        resumed = CSVLogger(path)
        resumed.set_state(state)
        for row in table(whole)[epoch + 1 :]:
            numbers = {name: value for name, value in row.items() if value and name != "epoch"}
            resumed.on_epoch_end(int(row["epoch"]), numbers)
        assert path.read_text() == whole.read_text(), epoch


def test_a_run_that_resumes_in_its_first_epoch_keeps_the_file_that_it_appends_to(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("epoch,loss\n0,0.5\n")
    log = CSVLogger(path, append=True)
    log.on_train_begin()
    state = log.get_state()
    log.on_epoch_end(0, {"loss": 0.25})
    resumed = CSVLogger(path, append=True)
    resumed.on_train_begin()
    resumed.set_state(state)
    assert resumed.get_state() == state
    resumed.on_epoch_end(0, {"loss": 0.125})
    assert path.read_text() == "epoch,loss\n0,0.5\n0,0.125\n"


def test_a_line_without_its_end_is_not_continued(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("epoch,loss\n0,0.5")
    log = CSVLogger(path, append=True)
    log.on_train_begin()
    log.on_epoch_end(0, {"loss": 0.25})
    assert [row["loss"] for row in table(path)] == ["0.5", "0.25"]


def test_a_full_disk_is_named_and_the_model_is_whole(tmp_path, monkeypatch):
    path = tmp_path / "log.csv"
    whole = Path.open

    def full(self, mode="r", *args, **options):
        if self == path and mode == "a":
            raise OSError(errno.ENOSPC, "No space left on device")
        return whole(self, mode, *args, **options)

    model = line(0.1)
    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(LogError, match=r"log\.csv") as caught:
        model.fit(X, Y, batch_size=5, epochs=3, verbose=0, callbacks=[CSVLogger(path)])
    assert "no space is left" in str(caught.value)
    assert "CSVLogger.on_epoch_end 0" in str(caught.value)
    assert int(model.optimizer.iterations) == 1
    monkeypatch.undo()
    model.fit(X, Y, initial_epoch=1, epochs=3, verbose=0, callbacks=[CSVLogger(path)])


@pytest.mark.broad
def test_a_path_that_cannot_be(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(LogError, match="CSVLogger"):
        line().fit(X, Y, verbose=0, callbacks=[CSVLogger(tmp_path / "file" / "log.csv")])
    with pytest.raises(ArgumentError, match="one character"):
        CSVLogger("log.csv", separator="")
    with pytest.raises(gx.errors.ArgumentTypeError, match="a path"):
        CSVLogger(3)
