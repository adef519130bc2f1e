"""``graftax export``: saving, showing, running, checking and updating artefacts from a shell."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import graftax as gx
from graftax.cli.main import main
from graftax.export import run as artefact_run

PROGRAM = """
import graftax as gx
from graftax.export import Signature, Spec

def build():
    return gx.Sequential([gx.layers.Dense(4, "relu"), gx.layers.Dense(2)])

def pair():
    model = build()
    model.build((None, 3))
    twice = Signature(lambda pair: pair["a"] * 2, {"a": Spec("n")})
    return {"predict": Signature(model, Spec("batch 3")), "twice": twice}, {"model": model}

def built():
    model = build()
    model.build((None, 3))
    return model

def deciding():
    return lambda x: x if x.shape[0] > 4 else -x

def number():
    return 3
"""

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Run]:
    """Runs a command in a folder with a program."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    Path("prog.py").write_text(PROGRAM)

    def command(*arguments: object) -> tuple[int, str, str]:
        code = main(["export", *map(str, arguments)])
        return code, *capsys.readouterr()

    yield command
    sys.modules.pop("prog", None)


@pytest.mark.broad
def test_a_model_is_saved_shown_run_and_checked(run: Run) -> None:
    code, out, _ = run("save", "prog.py:build", "net", "--input", "batch 3", "--platforms", "cpu")
    assert code == 0
    assert "predict:" in out
    assert "equal bits" in out
    code, out, _ = run("show", "net")
    assert code == 0
    assert "predict(x)  reads 4" in out
    assert "in   x       float32  [batch 3]" in out
    assert run("check", "net") == (0, "predict: equal bits\n", "")
    x = np.ones((5, 3), "float32")
    np.save("x.npy", x)
    assert run("run", "net", "x=x.npy", "out.npz")[0] == 0
    with np.load("out.npz") as results:
        np.testing.assert_array_equal(results["output"], gx.export.load("net").predict(x))
    code, out, _ = run("run", "net", "predict", "x=x.npy", "--json")
    assert json.loads(out) == {"output": {"dtype": "float32", "shape": [5, 2]}}


def test_results_in_bfloat16_are_written_as_float32(run: Run) -> None:
    gx.export.save("net", lambda x: {"half": gx.ops.cast(x, "bfloat16"), "n": x.shape[0]}, gx.export.Spec("n"))
    np.save("x.npy", np.array([1.0, 0.1], "float32"))
    code, out, _ = run("run", "net", "x=x.npy", "out.npz", "--json")
    assert (code, json.loads(out)["half"]["dtype"]) == (0, "bfloat16")
    artefact_run.main("net", "predict", "x=x.npy", "alone.npz")
    for name in ("out.npz", "alone.npz"):
        with np.load(name) as results:
            half, count = results.values()
        np.testing.assert_array_equal(half, np.array([1.0, 0.10009765625], "float32"), strict=True)
        assert (count.dtype.name, int(count)) == ("int32", 2)


@pytest.mark.broad
def test_functions_and_roots_are_saved_and_a_checkpoint_gives_the_weights(run: Run) -> None:
    gx.random.set_random_seed(5)
    model = gx.Sequential([gx.layers.Dense(4, "relu"), gx.layers.Dense(2)])
    model.build((None, 3))
    gx.Checkpoint(model=model, other=gx.Variable(1.0)).save("ckpt")
    code, out, err = run("save", "prog.py:pair", "net.zip", "--from", "ckpt", "--no-check", "--json")
    assert code == 0, err
    assert list(json.loads(out)["signatures"]) == ["predict", "twice"]
    artefact = gx.export.load("net.zip")
    np.testing.assert_array_equal(artefact.values["model/layers/0/kernel"], model.layers[0].kernel)
    code, out, _ = run("show", "net.zip", "--json")
    assert json.loads(out)["signatures"]["twice"]["inputs"][0]["name"] == "pair/a"
    np.save("a.npy", np.ones(3, "float32"))
    assert run("run", "net.zip", "twice", "pair/a=a.npy")[1] == "output:\n[2. 2. 2.]\n"
    code, _, err = run("run", "net.zip", "pair/a=a.npy")
    assert code == 2
    assert "it has predict, twice" in err


@pytest.mark.broad
def test_ex22_new_weights_come_from_a_checkpoint_of_the_same_paths(run: Run) -> None:
    gx.random.set_random_seed(5)
    model = gx.Sequential([gx.layers.Dense(4, "relu"), gx.layers.Dense(2)])
    model.build((None, 3))
    x = np.ones((5, 3), "float32")
    gx.export.save("net", model, gx.export.Spec("batch 3"))
    for variable in model.variables:
        variable.assign(variable.numpy() + 1)
    gx.Checkpoint(model=model).save("ckpt")
    assert run("update", "net", "ckpt") == (0, "net: 4 values updated\n", "")
    np.testing.assert_allclose(gx.export.load("net").predict(x), model(x), rtol=1e-6)
    assert run("check", "net")[0] == 0
    wide = gx.Sequential([gx.layers.Dense(4), gx.layers.Dense(3)])
    wide.build((None, 3))
    gx.Checkpoint(model=wide).save("wide")
    before = Path("net/weights.safetensors").read_bytes()
    code, _, err = run("update", "net", "wide")
    assert code == 4
    assert "model/layers/1/kernel: float32[4, 3], and float32[4, 2] in the artefact" in err
    gx.graft(model, gx.reparam.LoRA(rank=1), where="layers/0/kernel")
    gx.Checkpoint(model=model).save("parts")
    code, _, err = run("update", "net", "parts")
    assert code == 4
    assert "its parts model/layers/0/kernel/" in err
    assert Path("net/weights.safetensors").read_bytes() == before


@pytest.mark.broad
def test_what_cannot_be_has_its_exit_code(run: Run) -> None:
    assert run("save", "prog.py:number", "net")[0] == 2
    assert run("save", "prog.py:build", "net")[0] == 2  # not called, and no --input
    for wrong in ("b/2", "batch 3:floot"):
        assert run("save", "prog.py:build", "net", "--input", wrong)[0] == 2
    code, _, err = run("save", "prog.py:pair", "net", "--input", "batch 3")
    assert (code, "a signature has its own inputs" in err) == (2, True)
    code, _, err = run("save", "prog.py:built", "net", "--input", "batch 9")
    assert (code, "an input of shape (batch, 9)" in err) == (4, True)
    code, _, err = run("save", "prog.py:deciding", "net", "--input", "batch 3")
    assert (code, "decides by a free size" in err) == (4, True)
    for command in ("show", "check"):
        code, _, err = run(command, "nothing")
        assert code == 3
        assert "nothing" in err
    run("save", "prog.py:build", "net", "--input", "batch 3", "--no-check")
    code, _, err = run("save", "prog.py:build", "net", "--input", "batch 3")
    assert code == 5
    assert "--overwrite" in err
    assert run("check", "net")[0] == 3
    Path("bad.npy").write_bytes(b"no")
    assert run("run", "net", "x=bad.npy")[0] == 3
    np.save("x.npy", np.ones((2, 4), "float32"))
    code, _, err = run("run", "net", "x=x.npy")
    assert code == 2
    assert "axis 1 is 4, and 3 is 3" in err
    assert run("run", "net", "x=x.npy", "out.csv")[0] == 2
    code, _, err = run("run", "net", "z=x.npy")
    assert code == 2
    assert "inputs called z" in err
    assert "predict takes x" in err
    assert "instead: x=FILE.npy" in err
    assert "no inputs" in run("run", "net")[2]
    file = Path("net/weights.safetensors")
    file.write_bytes(file.read_bytes()[:-1] + b"?")
    assert run("check", "net")[0] == 3
    Path("net/manifest.json").write_text("{}")
    code, _, err = run("show", "net")
    assert code == 3
    assert "its manifest cannot be followed: format is missing" in err


@pytest.mark.broad
def test_show_imports_no_array_library(run: Run) -> None:
    run("save", "prog.py:build", "net", "--input", "batch 3", "--no-check")
    program = (
        "import sys; from graftax.cli.main import main; code = main(['export', 'show', 'net'])\n"
        "assert code == 0 and not {'jax', 'numpy', 'msgpack'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


def test_an_onnx_file_is_written_beside(run: Run) -> None:
    arguments = ["save", "prog.py:build", "net", "--input", "batch 3", "--no-check", "--onnx", "net.onnx", "--json"]
    code, out, err = run(*arguments)
    assert code == 0, err
    assert Path("net.onnx").stat().st_size > 100
    assert "onnx" in json.loads(out)
    Path("prog.py").write_text(PROGRAM.replace('"predict":', '"score":'))
    sys.modules.pop("prog", None)
    code, _, err = run("save", "prog.py:pair", "pair", "--no-check", "--onnx", "pair.onnx")
    assert code == 2
    assert "an ONNX file has one function" in err
    assert not Path("pair").exists()
