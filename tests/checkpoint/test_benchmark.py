"""The benchmark of checkpoints runs, and its contestants write the same bytes."""

import os

import numpy as np
import pytest

from benchmarks.checkpoint import measure, ratios, rows
from benchmarks.checkpoint_contestants import MAKERS, Size, arrays, contestants
from benchmarks.checkpoint_worker import PEAK, Took, Worker, timed
from graftax.checkpoint.reader import Reader
from graftax.checkpoint.verify import verify

SIZE = Size(20, 16, 1)


@pytest.mark.broad
def test_the_contestants_write_the_same_and_read_it(tmp_path):
    for name in contestants():
        runs = MAKERS[name](SIZE)
        runs["save"](str(tmp_path / name))
        if name != "raw":
            runs["restore"](str(tmp_path / name))
    assert os.path.getsize(tmp_path / "raw") == 20 * 64
    found = verify(tmp_path / "graftax")
    assert (found.nbytes, found.problems) == (20 * 64, ())
    with Reader(tmp_path / "graftax") as reader:
        assert [tensor.name for tensor in reader.index.tensors] == list(arrays(SIZE))
    first = np.asarray(next(iter(arrays(SIZE).values())))
    np.testing.assert_array_equal(np.fromfile(tmp_path / "raw", "float32")[:16], first)


def test_what_a_run_took(tmp_path):
    ran = []
    took = timed(lambda path: ran.append((path, sum(range(100_000)))), "somewhere")
    assert ran[0][0] == "somewhere"
    assert 0 < took.thread <= took.clock + 1e-3  # two clocks, read one after the other
    assert (took.peak > 1 << 20) == PEAK.exists()


def test_ratios_are_of_the_same_round():
    def runs(*clocks):
        return [Took(clock, clock / 2, 0, 0) for clock in clocks]

    took = {"graftax": runs(1, 4, 9), "other": runs(2, 4, 3)}
    assert ratios(took, "other") == "1.00 (0.50), 1.00"
    assert ratios(took, "raw") == "-"


@pytest.mark.slow
def test_a_contestant_has_a_process_of_its_own(tmp_path, capfd):
    with Worker("raw", SIZE) as worker:
        assert worker.ready() == ["save"]
        took = measure({"raw": worker}, "save", str(tmp_path), SIZE)["raw"]
        assert len(took) == SIZE.rounds
        assert os.listdir(tmp_path) == []
        with pytest.raises(RuntimeError, match="ended with status 1"):
            worker.run("save", str(tmp_path / "missing" / "file"))
    assert "FileNotFoundError" in capfd.readouterr().err


@pytest.mark.slow
def test_the_table_has_a_row_for_each_kind_of_work(tmp_path):
    lines = rows((Size(20, 16, 2),), str(tmp_path), ["graftax", "raw"])
    assert [line.split(" | ")[0] for line in lines[2:]] == [
        "| save 20 × 0.1 kB",
        "| held by a save beside the program, 20 × 0.1 kB",
        "| restore 20 × 0.1 kB",
        "| restore 1 % of 20 × 0.1 kB",
    ]
    assert lines[2].count("|") == lines[3].count("|") == lines[0].count("|")
