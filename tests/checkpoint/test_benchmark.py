"""The benchmark of checkpoints runs, and its contestants write the same bytes."""

import os

import numpy as np

from benchmarks.checkpoint import Net, Size, rows, savers
from graftax.checkpoint.verify import verify


def test_the_contestants_write_the_same(tmp_path):
    net = Net(Size(20, 16, 1))
    for name, run in savers(net).items():
        run(str(tmp_path / name))
    assert os.path.getsize(tmp_path / "raw") == 20 * 64
    found = verify(tmp_path / "graftax")
    assert (found.nbytes, found.problems) == (20 * 64, ())
    np.testing.assert_array_equal(np.fromfile(tmp_path / "raw", "float32")[:16], net.variables[0].numpy())


def test_the_table_has_a_row_for_each_kind_of_work(tmp_path):
    lines = rows((Size(20, 16, 2),), str(tmp_path))
    assert [line.split(" | ")[0] for line in lines[2:]] == [
        "| save 20 × 0.1 kB",
        "| restore 20 × 0.1 kB",
        "| restore 1 % of 20 × 0.1 kB",
        "| held by a save beside the program, 20 × 0.1 kB",
        "| peak memory of a restore, 20 × 0.1 kB",
    ]
