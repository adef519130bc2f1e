"""The command ``graftax``: what it prints, and its exit codes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import graftax as gx
from graftax.checkpoint.checkpoint import Checkpoint
from graftax.cli.main import main

PACKAGE = Path(gx.__file__).parents[1]

PROGRAM = """
import numpy as np
import graftax as gx

class Net(gx.Module):
    def __init__(self, fill):
        self.kernel = gx.Variable(np.full((2, 3), fill, "float32"))
        self.half = gx.Variable(np.full(3, fill), dtype="bfloat16")
        self.count = gx.Variable(int(fill), trainable=False, role="counter")

def build():
    return {"net": Net(0.0)}

def ones():
    return gx.Checkpoint(net=Net(1.0))

def renamed():
    return {"body": Net(0.0)}

def number():
    return 3

def broken():
    return 1 / 0
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working directory, with a program and one checkpoint of ones."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # nothing else lies in the folder
    Path("prog.py").write_text(PROGRAM)
    yield tmp_path
    sys.modules.pop("prog", None)


@pytest.fixture
def run(folder, capsys):
    def command(*arguments):
        code = main(["ckpt", *map(str, arguments)])
        out, err = capsys.readouterr()
        return code, out, err

    assert command("save", "prog.py:ones", "c")[0] == 0
    return command


def test_ls(run, folder):
    Path("results").mkdir()
    (folder / "bad\x1b[31m").mkdir()
    code, out, _ = run("ls", folder)
    assert code == 0
    header, *lines = out.splitlines()
    assert header.split() == ["NAME", "STEP", "CREATED", "SIZE", "ARRAYS"]
    assert [line.split()[0] for line in lines] == ["bad\\x1b[31m", "c", "prog.py", "results"]
    assert lines[1].split()[-1] == "3"
    assert "foreign" in lines[3]
    code, out, _ = run("ls", folder, "--json")
    entry = next(e for e in json.loads(out) if e["name"] == "c")
    assert (entry["state"], entry["tensors"], entry["step"]) == ("checkpoint", 3, None)
    assert run("ls", folder / "nowhere")[0] == 5


def test_show(run):
    code, out, _ = run("show", "c")
    assert code == 0
    *lines, random = out.splitlines()[2:]
    assert [line.split()[:3] for line in lines] == [
        ["net/kernel", "float32", "(2,"],
        ["net/half", "bfloat16", "(3,)"],
        ["net/count", "int32", "()"],
    ]
    assert random.startswith("gx.random {'seed': ")
    code, out, _ = run("show", "c", "--only", "**/half", "--json")
    (entry,) = json.loads(out)["entries"]
    assert (entry["path"], entry["dtype"], entry["shape"], entry["bytes"]) == ("net/half", "bfloat16", [3], 6)
    code, _, err = run("show", "c", "--only", "nothing")
    assert (code, "matches none" in err) == (2, True)


def test_verify(run):
    assert run("verify", "c")[0] == 0
    Path("c/notes").write_text("")
    code, out, _ = run("verify", "c")
    assert (code, "not part of the checkpoint: notes" in out) == (1, True)
    data = next(Path("c").glob("data-*"))
    content = bytearray(data.read_bytes())
    content[-1] ^= 1
    data.write_bytes(content)
    code, out, _ = run("verify", "c")
    assert (code, "CorruptData" in out) == (3, True)
    code, out, _ = run("verify", "c", "--json")
    assert [problem["error"] for problem in json.loads(out)["problems"]] == ["CorruptData"]


def test_save_and_restore_run_a_function_of_the_user(run):
    code, out, _ = run("restore", "c", "prog:build", "--save", "d")
    assert code == 0
    assert "3 restored (mode exact)" in out
    assert run("save", "prog.py:build", "e", "--from", "c", "--only", "**/kernel")[0] == 0
    for name in ("d", "e"):
        restored = gx.Variable(np.zeros((2, 3), "float32"))
        Checkpoint(k=restored).restore(name, map={"k": "net/kernel"})
        assert restored.numpy().tolist() == [[1.0] * 3] * 2
    assert run("restore", "c", "prog:build", "--save", "d")[0] == 5
    assert run("restore", "c", "prog:build", "--save", "d", "--overwrite")[0] == 0
    for target, told in (("prog:build", "nothing is saved"), ("out.npz", "a file that is there is not replaced")):
        code, _, err = run("restore", "c", target, "--overwrite")  # which would have no effect
        assert (code, told in err) == (2, True)
    assert run("save", "prog.py:build", "e")[0] == 5
    assert run("save", "prog.py:build", "e", "--overwrite", "--json")[0] == 0


def test_a_restore_that_does_not_fit_exits_with_4(run):
    code, out, err = run("restore", "c", "prog.py:renamed")
    assert (code, out) == (4, "")
    assert "body/kernel: has no value in the checkpoint; nearest of its shape: net/kernel" in err
    assert "Traceback" not in err
    code, out, _ = run("restore", "c", "prog.py:renamed", "--map", "body=net", "--mode", "cover", "--json")
    assert code == 0
    assert {r["path"]: r["source"] for r in json.loads(out)["restored"]}["body/kernel"] == "net/kernel"


def test_a_part_into_a_file_of_another_tool(run, folder):
    assert run("restore", "c", "out.npz", "--skip", "**/half")[0] == 0
    with np.load("out.npz") as found:
        assert sorted(found) == ["net/count", "net/kernel"]
        np.testing.assert_array_equal(found["net/kernel"], np.ones((2, 3), "float32"))
    code, _, err = run("restore", "c", "all.npz")
    assert (code, "bfloat16" in err, Path("all.npz").exists()) == (2, True, False)
    assert run("restore", "c", "out.npz", "--only", "**/count")[0] == 5
    assert run("restore", "c", "x.npz", "--mode", "cover")[0] == 2
    code, out, _ = run("restore", "c", "out.safetensors")
    assert code == 0
    assert "bfloat16 is no dtype of NumPy's own: whoever reads the file with NumPy imports ml_dtypes first" in out
    reference = pytest.importorskip("safetensors")
    with reference.safe_open("out.safetensors", "numpy") as file:
        assert sorted(file.keys()) == ["net/count", "net/half", "net/kernel"]
        assert file.get_tensor("net/count") == 1


@pytest.mark.broad
def test_a11_what_is_said_of_bfloat16_in_a_file_of_another_tool_holds(run, folder):
    """Alone, the reader fails; with what the output names, it reads the values. A file without any has no such line."""
    assert run("restore", "c", "out.safetensors")[0] == 0
    assert "ml_dtypes" not in run("restore", "c", "plain.safetensors", "--skip", "**/half")[1]
    read = "from safetensors.numpy import load_file; print(load_file('out.safetensors')['net/half'].tolist())"
    alone = subprocess.run([sys.executable, "-c", read], capture_output=True, text=True)
    assert "bfloat16" in alone.stderr
    taught = subprocess.run([sys.executable, "-c", f"import ml_dtypes; {read}"], capture_output=True, text=True)
    assert taught.stdout == "[1.0, 1.0, 1.0]\n"


@pytest.mark.broad
def test_a11_our_own_reader_needs_no_import_for_bfloat16(run, folder):
    """On NumPy, in a process that has imported nothing else."""
    code = (
        "import graftax as gx; gx.backend.use('numpy'); import prog; checkpoint = prog.build()\n"
        "gx.Checkpoint(**checkpoint).restore('c'); print(checkpoint['net'].half.numpy().tolist())"
    )
    paths = os.pathsep.join((str(PACKAGE), str(folder)))
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": paths}
    )
    assert (found.stdout, found.stderr) == ("[1.0, 1.0, 1.0]\n", "")


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ("prog.py:missing", "no function missing"),
        ("prog.py", "it names a function"),
        ("nowhere.py:build", "no such file"),
        ("nowhere.at.all:build", "there is no module nowhere"),
        ("prog.py:number", "returned a int"),
        ("prog.py:broken", "ZeroDivisionError"),
    ],
)
def test_wrong_targets_are_usage_errors(run, target, text):
    code, out, err = run("restore", "c", target)
    assert (code, out) == (2, "")
    assert text in err
    assert "Traceback" not in err


def test_exit_codes_of_what_is_there(run):
    assert run("show", "nowhere")[0] == 5
    Path("c/graph.msgpack").write_bytes(b"\x89GFXCK\n\x00" + bytes(30))
    code, _, err = run("show", "c")
    assert code == 3
    assert err.startswith("graftax: ")
    assert "where: c" in err
    os.unlink("c/graph.msgpack")
    assert run("verify", "c")[0] == 3
    assert run("restore", "c", "prog.py:build", "--map", "a")[0] == 2


@pytest.mark.parametrize(
    "arguments", [[], ["ckpt"], ["ckpt", "fly"], ["ckpt", "ls"], ["ckpt", "restore", "c", "t", "--mode", "x"]]
)
def test_usage_errors_exit_with_2(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "usage: graftax" in capsys.readouterr().err


@pytest.mark.broad
@pytest.mark.parametrize("command", ["ls", "show", "verify"])
def test_no_array_library_is_imported(run, folder, command):
    code = (
        "import sys; from graftax.cli.main import main; code = main(sys.argv[1:]); "
        "print(sorted({'numpy', 'jax', 'ml_dtypes'} & set(sys.modules)), code)"
    )
    path = str(folder) if command == "ls" else "c"
    done = subprocess.run(
        [sys.executable, "-c", code, "ckpt", command, path],
        capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": str(PACKAGE)},
    )  # fmt: skip
    assert done.stdout.splitlines()[-1] == "[] 0"


@pytest.mark.broad
def test_a_reader_that_has_seen_enough_is_no_error(run, folder):
    done = subprocess.run(
        f"{sys.executable} -c 'from graftax.cli.main import main; raise SystemExit(main())' ckpt show c | true; "
        "echo ${PIPESTATUS[0]}",
        shell=True, executable="/bin/bash", capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": str(PACKAGE)},
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("0\n", "")
