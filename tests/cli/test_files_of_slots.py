"""A file for other tools has the slots of optimizers, and makes a checkpoint again that a run goes on from."""

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.cli.main import main

X = np.random.default_rng(0).normal(size=(16, 6)).astype("float32")
OPTIMIZERS = {
    "Adam": lambda: gx.optimizers.Adam(0.01),
    "SGD": lambda: gx.optimizers.SGD(0.01, momentum=0.9, ema_momentum=0.9),
    "Muon": lambda: gx.optimizers.Muon(0.01),
}


def program(optimizer):
    model = gx.Sequential([gx.layers.Dense(8, activation="tanh"), gx.layers.Dense(2)])
    model(X)
    return model, OPTIMIZERS[optimizer]()


def train(model, optimizer):
    for _ in range(2):
        optimizer.minimize(lambda: ops.mean((model(X) - 1) ** 2), model.trainable_variables)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_run_goes_on_from_a_converted_file(name, tmp_path, capsys):
    first, again, file = (str(tmp_path / one) for one in ("first", "again", "file.safetensors"))
    model, optimizer = program(name)
    train(model, optimizer)
    gx.Checkpoint(model=model, optimizer=optimizer).save(first)
    assert main(["ckpt", "convert", first, "--to", file]) == 0
    assert main(["ckpt", "convert", file, "--to", again]) == 0
    train(model, optimizer)
    other, its_optimizer = program(name)
    report = gx.Checkpoint(model=other, optimizer=its_optimizer).restore(again)
    report.assert_consumed()
    train(other, its_optimizer)
    for one, same in zip(other.variables, model.variables, strict=True):
        np.testing.assert_array_equal(one, same)


def test_slots_without_their_variables_stay_arrays(tmp_path, capsys):
    first, again, file = (str(tmp_path / one) for one in ("first", "again", "file.safetensors"))
    model, optimizer = program("Adam")
    train(model, optimizer)
    gx.Checkpoint(model=model, optimizer=optimizer).save(first)
    assert main(["ckpt", "convert", first, "--to", file, "--only", "optimizer/**"]) == 0
    assert main(["ckpt", "convert", file, "--to", again]) == 0
    capsys.readouterr()
    assert main(["ckpt", "show", again]) == 0
    assert "slots(momentum)" in capsys.readouterr().out
