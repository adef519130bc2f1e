"""A checkpoint is a directory, and has no name that promises a file of another format."""

import numpy as np
import pytest

import graftax as gx
from graftax.cli.main import main
from graftax.core.errors import ArgumentError

ENDINGS = [".weights.h5", ".h5", ".keras", ".safetensors", ".npz", ".pt", ".pth", ".msgpack", ".onnx"]
SAVES = {
    "save": lambda model, path: model.save(path),
    "save_weights": lambda model, path: model.save_weights(path, overwrite=True),
    "Checkpoint": lambda model, path: gx.Checkpoint(model=model).save(path),
}


@pytest.fixture
def model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = gx.Sequential([gx.layers.Dense(2)])
    made(np.ones((1, 2), "float32"))
    return made


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("save", SAVES)
def test_names_of_files_are_refused(model, save, ending, tmp_path):
    with pytest.raises(ArgumentError, match="a checkpoint is a directory") as error:
        SAVES[save](model, f"net{ending}")
    assert error.value.instead.startswith("'net'; ")
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("name", ["net", "net.v2", "step-1.5", "runs.h5/net", "net.ckpt"])
def test_other_names_are_taken(model, name, tmp_path):
    (tmp_path / "runs.h5").mkdir()
    gx.Checkpoint(model=model).save(name)
    gx.Checkpoint(model=model).restore(name).assert_consumed()


LINES = [
    "extract a --to {}",
    "cast a --dtype float16 --to {}",
    "merge a a --to {}",
    "average a a {}",
    "rename a --map m=model --to {}",
]


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("ending", [".safetensors", ".pt"])
def test_commands_refuse_them_too(model, line, ending, tmp_path, capsys):
    gx.Checkpoint(model=model).save("a")
    assert main(["ckpt", *line.format(f"out{ending}").split()]) == 2
    assert "graftax ckpt convert out --to out.safetensors" in capsys.readouterr().err
    assert [one.name for one in tmp_path.iterdir()] == ["a"]
