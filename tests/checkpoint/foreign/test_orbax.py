"""Directories that Orbax wrote, read by Orbax: whole ones, those of a manager, damaged ones; and in the shell."""

import gc
import shutil
import time

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.cli.main import main

checkpoint = pytest.importorskip("orbax.checkpoint")

X = np.random.default_rng(0).normal(size=(3, 6)).astype("float32")


def parameters():
    """What Flax names the weights of two Dense layers, and what they compute."""
    draw = np.random.default_rng(1)
    found = {
        f"Dense_{i}": {
            "kernel": draw.normal(size=shape).astype("float32"),
            "bias": draw.normal(size=shape[1]).astype("float32"),
        }
        for i, shape in enumerate([(6, 5), (5, 4)])
    }
    y = X
    for layer in found.values():
        y = y @ layer["kernel"] + layer["bias"]
    return found, y


def network():
    model = gx.Sequential([layers.Dense(5), layers.Dense(4)])
    model.build((None, 6))
    return model


def by_pytree(path, tree):
    checkpoint.PyTreeCheckpointer().save(path, tree)
    return path


def by_standard(path, tree):
    with checkpoint.StandardCheckpointer() as saver:
        saver.save(path, tree)
    return path


def by_manager(path, tree):
    with checkpoint.CheckpointManager(path) as manager:
        manager.save(3, args=checkpoint.args.StandardSave(tree))
    return path / "3"


@pytest.mark.parametrize("save", [by_pytree, by_standard, by_manager])
def test_a_network(tmp_path, save):
    tree, y = parameters()
    model = network()
    report = gx.checkpoint.load_foreign(save(tmp_path / "saved", tree), model)
    assert report.source == "flax"
    np.testing.assert_allclose(model(X), y, rtol=1e-5, atol=1e-5)


def test_parameters_beside_other_state(tmp_path):
    tree, y = parameters()
    model = network()
    where = by_pytree(tmp_path / "saved", {"params": tree, "step": np.array(7), "note": 3.5})
    gx.checkpoint.load_foreign(where, model, mode="cover")
    np.testing.assert_allclose(model(X), y, rtol=1e-5, atol=1e-5)


def test_what_does_not_fit_changes_nothing(tmp_path):
    tree, _ = parameters()
    tree["Dense_1"]["kernel"] = np.ones((5, 9), "float32")
    model = network()
    before = model.layers[0].kernel.numpy()
    with pytest.raises(gx.errors.MatchError, match="layers/1"):
        gx.checkpoint.load_foreign(by_pytree(tmp_path / "saved", tree), model)
    np.testing.assert_array_equal(model.layers[0].kernel.numpy(), before)


@pytest.fixture
def forgotten_tasks():
    """Reads that Orbax forgets end, each with a complaint, while those are still this test's."""
    yield
    time.sleep(0.5)
    gc.collect()


@pytest.mark.usefixtures("forgotten_tasks")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("damage", ["cut", "gone", "flipped"])
def test_damage_is_told_in_our_words(tmp_path, damage):
    tree, _ = parameters()
    where = by_pytree(tmp_path / "saved", tree)
    model = network()
    before = model.layers[0].kernel.numpy()
    if damage == "gone":
        shutil.rmtree(where / "ocdbt.process_0", ignore_errors=True)
        shutil.rmtree(where / "d", ignore_errors=True)
    else:
        for file in where.rglob("*"):
            if file.is_file() and file.name != "_METADATA":
                data = file.read_bytes()
                file.write_bytes(data[: len(data) // 2] if damage == "cut" else bytes(255 - b for b in data))
    with pytest.raises(gx.errors.CheckpointError, match="as Orbax reads it"):
        gx.checkpoint.load_foreign(where, model)
    np.testing.assert_array_equal(model.layers[0].kernel.numpy(), before)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of a read that ended even later
def test_the_shell_makes_a_checkpoint_of_it(tmp_path, capsys):
    tree, _ = parameters()
    where = by_pytree(tmp_path / "saved", tree)
    assert main(["ckpt", "convert", str(where), "--to", str(tmp_path / "ours")]) == 0
    capsys.readouterr()
    with gx.checkpoint.read(tmp_path / "ours") as arrays:
        np.testing.assert_array_equal(arrays["Dense_0/kernel"], tree["Dense_0"]["kernel"])
