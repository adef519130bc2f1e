"""What tests of the command line share."""

from pathlib import Path

import numpy as np
import pytest

import graftax as gx
from graftax.cli.main import main


@pytest.fixture
def ckpt(tmp_path, monkeypatch, capsys):
    """Runs a command in a folder with two checkpoints, a and b, of two layers, and gives code, output and errors."""
    monkeypatch.chdir(tmp_path)
    model = gx.Sequential([gx.layers.Dense(3), gx.layers.Dense(2)])
    model.build((None, 4))
    for variable in model.variables:
        variable.assign(np.arange(variable.size, dtype="float32").reshape(variable.shape))
    count = gx.Variable(1, trainable=False, role="counter")
    program = gx.Checkpoint(model=model, count=count)
    program.save(Path("a"), step=1)
    model.layers[0].kernel.assign_add(np.full((4, 3), 2, "float32"))
    program.save(Path("b"), step=2)

    def run(*arguments):
        code = main(["ckpt", *map(str, arguments)])
        out, err = capsys.readouterr()
        return code, out, err

    return run
