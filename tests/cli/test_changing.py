"""Commands that make checkpoints of checkpoints."""

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import graftax as gx
from graftax.cli.main import main

KERNEL = "model/layers/0/kernel"


def arrays(path):
    with gx.checkpoint.read(path) as found:
        return dict(found)


def test_extract(ckpt):
    assert ckpt("extract", "a", "--to", "head", "--only", "model/layers/1/**")[0] == 0
    assert list(arrays("head")) == ["model/layers/1/kernel", "model/layers/1/bias"]
    code, _, err = ckpt("extract", "a", "--to", "head")
    assert (code, "--overwrite" in err) == (5, True)
    assert ckpt("extract", "a", "--to", "head", "--overwrite")[0] == 0
    assert len(arrays("head")) == 5


def test_rename(ckpt):
    code, out, _ = ckpt("rename", "a", "--to", "r", "--map", "net=model", "--map", "net/head=model/layers/1", "--json")
    assert (code, json.loads(out)["renamed"]) == (0, {"net": "model", "net/head": "model/layers/1"})
    before, after = arrays("a"), arrays("r")
    assert set(after) == {"net/layers/0/kernel", "net/layers/0/bias", "net/head/kernel", "net/head/bias", "count"}
    np.testing.assert_array_equal(after["net/head/kernel"], before["model/layers/1/kernel"])
    assert ckpt("verify", "r")[0] == 0
    assert set(load_file(next(Path("r").glob("data-*")))) == set(after)


@pytest.mark.parametrize(
    ("maps", "code", "told"),
    [
        ([], 2, "no --map"),
        (["model"], 2, "--map NEW=OLD"),
        (["x=modle"], 2, "nearest: model"),
        (["count=model"], 4, "a root already"),
        (["model/layers/0=model/layers/1"], 4, "there already"),
        (["model/layers/one=model/layers/1"], 2, "numbers"),
        (["nothing/x=model"], 2, "no 'nothing'"),
        ([f"{KERNEL}/x=count"], 2, "an array has nothing below it"),
        (["x=model", "x=count"], 2, "has a value already"),
        (["x=count", "y=count"], 4, "tied from then on"),
    ],
)
def test_renames_that_cannot_be(ckpt, maps, code, told, tmp_path):
    found, _, err = ckpt("rename", "a", "--to", "r", *[word for one in maps for word in ("--map", one)])
    assert (found, told in err, (tmp_path / "r").exists()) == (code, True, False), err


def test_merge(ckpt):
    ckpt("rename", "b", "--to", "r", "--map", "other=model", "--map", "turns=count")
    assert ckpt("merge", "a", "r", "--to", "m")[0] == 0
    found = arrays("m")
    np.testing.assert_array_equal(found[KERNEL] + 2, found["other/layers/0/kernel"])
    code, _, err = ckpt("merge", "a", "b", "--to", "x")
    assert (code, KERNEL in err, "--prefer first" in err) == (4, True, True)
    for prefer, like in (("first", "a"), ("last", "b")):
        assert ckpt("merge", "a", "b", "--to", prefer, "--prefer", prefer)[0] == 0
        np.testing.assert_array_equal(arrays(prefer)[KERNEL], arrays(like)[KERNEL])
    assert ckpt("merge", "a", "--to", "y")[0] == 2


def test_merged_parts_of_one_program_are_that_program(ckpt):
    """Optimizer and model, saved apart of one whole, are put together; slots know their Variables."""
    w = gx.Variable(np.ones(3, "float32"))
    optimizer = gx.optimizers.Adam(0.1)
    optimizer.apply([np.ones(3, "float32")], [w])
    gx.Checkpoint(w=w, optimizer=optimizer).save("whole")
    ckpt("extract", "whole", "--to", "one", "--skip", "optimizer/**")
    ckpt("extract", "whole", "--to", "two", "--only", "optimizer/**", "--only", "w")
    assert ckpt("merge", "one", "two", "--to", "again")[0] == 0
    v, fresh = gx.Variable(np.zeros(3, "float32")), gx.optimizers.Adam(0.1)
    gx.Checkpoint(w=v, optimizer=fresh).restore("again").assert_consumed()
    np.testing.assert_array_equal(fresh.slot(v, "momentum").numpy(), optimizer.slot(w, "momentum").numpy())


def test_cast(ckpt):
    code, out, _ = ckpt("cast", "a", "--to", "half", "--dtype", "bfloat16", "--only", "**/kernel", "--only", "count")
    assert (code, "2 of them are bfloat16" in out) == (0, True)
    dtypes = {path: array.dtype.name for path, array in arrays("half").items()}
    assert (dtypes[KERNEL], dtypes["model/layers/0/bias"], dtypes["count"]) == ("bfloat16", "float32", "int32")
    assert ckpt("cast", "a", "--to", "x", "--dtype", "int8")[0] == 2
    assert ckpt("cast", "a", "--to", "x", "--dtype", "float16", "--only", "nothing")[0] == 2


def test_average(ckpt):
    assert ckpt("average", "a", "b", "--to", "mean")[0] == 0
    np.testing.assert_array_equal(arrays("mean")[KERNEL], arrays("a")[KERNEL] + 1)
    ckpt("extract", "a", "--to", "part", "--skip", "count")
    code, _, err = ckpt("average", "a", "part", "--to", "x")
    assert (code, "count: is not in part" in err) == (4, True)
    assert ckpt("average", "a", "part", "--to", "x", "--only", "model/**")[0] == 0


def test_integers_of_an_average_are_those_of_the_first(ckpt):
    for name, n in (("one", 1), ("two", 2)):
        gx.Checkpoint(count=gx.Variable(n, trainable=False, role="counter")).save(name)
    code, out, _ = ckpt("average", "one", "two", "--to", "mean")
    assert (code, int(arrays("mean")["count"])) == (0, 1)
    assert "count is that of one" in out


def test_a_mean_has_the_step_and_the_metrics_that_all_agree_on(ckpt):
    for name, step, loss in (("one", 3, 0.5), ("two", 3, 0.25), ("three", 4, 0.5)):
        meta = {"metrics": {"loss": loss}, "run": "deep"}
        gx.Checkpoint(w=gx.Variable(np.ones(2, "float32"))).save(name, step=step, meta=meta)
    for names, step, meta in (
        (["one", "two"], 3, {"run": "deep"}),
        (["one", "three"], None, {"metrics": {"loss": 0.5}, "run": "deep"}),
        (["one", "two", "three"], None, {"run": "deep"}),
    ):
        assert ckpt("average", *names, "--to", "mean", "--overwrite")[0] == 0
        report = gx.Checkpoint(w=gx.Variable(np.zeros(2, "float32"))).restore("mean")
        assert (report.step, dict(report.meta)) == (step, meta)


@pytest.mark.parametrize("suffix", [".safetensors", ".npz"])
def test_convert_there_and_back(ckpt, suffix):
    assert ckpt("convert", "a", "--to", f"out{suffix}", "--only", "model/**")[0] == 0
    assert ckpt("convert", f"out{suffix}", "--to", "back")[0] == 0
    before, after = arrays("a"), arrays("back")
    assert set(after) == set(before) - {"count"}
    np.testing.assert_array_equal(after[KERNEL], before[KERNEL])
    model = gx.Sequential([gx.layers.Dense(3), gx.layers.Dense(2)])
    model.build((None, 4))
    gx.Checkpoint(model=model).restore("back")
    np.testing.assert_array_equal(model.layers[0].kernel.numpy(), before[KERNEL])


def test_convert_takes_names_with_dots_apart(ckpt):
    save_file({"h.0.w": np.ones(2, "float32"), "h.1.w": np.zeros(2, "float32")}, "t.safetensors")
    assert ckpt("convert", "t.safetensors", "--to", "t", "--skip", "h/1/**")[0] == 0
    assert list(arrays("t")) == ["h/0/w"]
    save_file({"a": np.ones(2, "float32"), "a.b": np.zeros(2, "float32")}, "u.safetensors")
    assert ckpt("convert", "u.safetensors", "--to", "u")[0] == 4
    assert ckpt("convert", "t.safetensors", "--to", "x.npz")[0] == 2
    assert ckpt("convert", "a", "--to", "x.pt")[0] == 2
    assert ckpt("convert", "nothing.pt", "--to", "x")[0] == 5


def test_a_new_path_below_nothing_is_explained(tmp_path, capsys):
    path = str(tmp_path / "a")
    gx.Checkpoint(model=gx.Sequential([gx.Input((4,)), gx.layers.Dense(3), gx.layers.Dense(2)])).save(path)
    given = ["ckpt", "rename", path, "--to", str(tmp_path / "b"), "--map"]
    assert main([*given, "model/body/head=model/layers/1"]) == 2
    told = capsys.readouterr().err
    assert "the new path 'model/body/head'" in told
    assert "below 'model/body', which does not exist" in told
    assert main([*given, "model/bl/*=model/layers/*"]) == 2
    assert "the new path 'model/bl/0'" in capsys.readouterr().err
    assert main([*given, "model/head=model/layers/1"]) == 0
    assert main([*given[:-2], str(tmp_path / "c"), "--map", "model/bl=model/layers"]) == 0
