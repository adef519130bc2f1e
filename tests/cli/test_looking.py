"""Commands that look: at checkpoints, at files of other libraries, at what differs; and what a shell completes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

import graftax as gx
from graftax.checkpoint.derived import difference
from graftax.checkpoint.loading import load
from graftax.cli.main import main

KERNEL = "model/layers/0/kernel"


def test_diff(ckpt):
    code, out, _ = ckpt("diff", "a", "b")
    assert code == 1
    assert f"~ {KERNEL}  float32 (4, 3), by up to 2" in out
    assert "1 changed, 0 removed, 0 added, 4 the same" in out
    code, out, _ = ckpt("diff", "a", "b", "--json")
    found = json.loads(out)
    assert [change["path"] for change in found["changed"]] == [KERNEL]
    assert (found["added"], found["removed"], found["same"]) == ([], [], 4)
    assert ckpt("diff", "a", "a")[0] == 0
    assert ckpt("diff", "a", "b", "--skip", KERNEL)[0] == 0
    assert ckpt("diff", "a", "b", "--only", "nothing")[0] == 2


def test_diff_of_parts_and_files(ckpt):
    ckpt("convert", "a", "--to", "out.safetensors", "--only", "model/**")
    code, out, _ = ckpt("diff", "a", "out.safetensors")
    assert (code, "- count" in out) == (1, True)
    assert ckpt("diff", "out.safetensors", "a", "--only", "model/**")[0] == 0
    ckpt("cast", "a", "--to", "half", "--dtype", "float16")
    code, out, _ = ckpt("diff", "a", "half", "--only", KERNEL)
    assert (code, "float32 (4, 3) -> float16 (4, 3)" in out) == (1, True)


def test_files_of_other_libraries(ckpt):
    save_file({"fc.weight": np.ones((2, 3), "float32"), "fc.bias": np.zeros(2, "float32")}, "t.safetensors")
    code, out, _ = ckpt("show", "t.safetensors", "--json")
    assert [(e["path"], e["shape"]) for e in json.loads(out)["entries"]] == [("fc.bias", [2]), ("fc.weight", [2, 3])]
    code, out, _ = ckpt("show", "t.safetensors", "--tree")
    assert [line.split()[0] for line in out.splitlines()[1:]] == ["fc", "bias", "weight"]
    assert ckpt("show", "t.safetensors", "--only", "nothing")[0] == 2
    assert ckpt("verify", "t.safetensors")[0] == 0
    Path("t.safetensors").write_bytes(Path("t.safetensors").read_bytes()[:-1])
    assert ckpt("show", "t.safetensors")[0] == 3
    code, out, _ = ckpt("verify", "t.safetensors", "--json")
    assert (code, json.loads(out)["problems"][0]["error"]) == (3, "TruncatedFile")


def test_trees_and_numbers(ckpt):
    _, out, _ = ckpt("show", "a", "--tree")
    words = [line.split()[0] for line in out.splitlines()[1:]]
    assert words[:5] == ["model", "layers", "0", "kernel", "bias"]
    _, out, _ = ckpt("show", "a", "--stats", "--json", "--only", KERNEL)
    (entry,) = json.loads(out)["entries"]
    assert (entry["min"], entry["max"], entry["mean"], entry["not_finite"]) == (0, 11, 5.5, 0)
    assert "MEAN" in ckpt("show", "a", "--stats")[1]


def test_latest_and_sweep(ckpt):
    _, out, _ = ckpt("ls", ".", "--latest")
    assert os.path.normpath(out.strip()) == "b"
    assert json.loads(ckpt("ls", ".", "--latest", "--json")[1])["step"] == 2
    Path("empty").mkdir()
    assert ckpt("ls", "empty", "--latest")[0] == 5
    Path(f".trash-{'0' * 16}").mkdir()
    _, _, err = ckpt("ls", ".", "--sweep")
    assert "swept .trash-" in err
    assert not list(Path(".").glob(".trash-*"))


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell, capsys):
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert "average" in script
    assert "prefer" in script
    if shell == "bash":
        words = "source /dev/stdin; COMP_WORDS=(graftax ckpt av); COMP_CWORD=2; _graftax; echo $COMPREPLY"
        done = subprocess.run(["bash", "-c", words], input=script, capture_output=True, text=True)
        assert done.stdout.strip() == "average", done.stderr


VERBS = """
    ls .
    ls . --latest --sweep
    show a --tree
    show a --stats
    verify a
    diff a b
    extract a --to part --only model/**
    rename a --to renamed --map body=model
    merge a b --to both --prefer first
    cast a --to half --dtype bfloat16
    average a b --to mean
    convert a --to out.safetensors
    convert a --to out.npz
    convert out.safetensors --to back
    show out.npz
    show out.npz --stats
    verify out.npz
    diff out.npz out.safetensors
    restore a restored.npz
    restore a restored.safetensors
    prune . --keep 50
"""


@pytest.mark.broad
def test_no_verb_imports_jax(ckpt):
    """All but those that run a function of the user: `save`, and `restore` into one."""
    program = (
        "import sys\n"
        "from graftax.cli.main import main\n"
        f"for line in {VERBS!r}.strip().splitlines():\n"
        "    code = main(['ckpt', *line.split()])\n"
        "    assert code == (line.split() == ['diff', 'a', 'b']), (line, code)\n"
        "    assert not {'jax', 'jaxlib', 'optax'} & set(sys.modules), line\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, env=os.environ, stdout=subprocess.DEVNULL)


def test_diff_reads_no_array_whose_checksums_are_equal(ckpt, monkeypatch):
    read = []
    monkeypatch.setattr(difference, "load", lambda reader, numbers: read.append(numbers) or load(reader, numbers))
    assert ckpt("diff", "a", "b")[0] == 1
    assert len(read) == 2  # the kernel of both
    ckpt("convert", "b", "--to", "out.safetensors")  # has none
    assert ckpt("diff", "b", "out.safetensors")[0] == 0
    assert len(read) > 2


def test_diff_looks_at_arrays_inside_of_python_state(tmp_path, capsys):
    class Counts(gx.Module):
        def __init__(self, last):
            self.counts = {"words": np.arange(4), "last": last}

        def get_state(self):
            return self.counts

        def set_state(self, state):
            self.counts = state

    for name, last in (("one", np.arange(3)), ("same", np.arange(3)), ("other", np.arange(3)[::-1].copy())):
        gx.Checkpoint(counts=Counts(last)).save(tmp_path / name)
    assert main(["ckpt", "diff", str(tmp_path / "one"), str(tmp_path / "same")]) == 0
    assert main(["ckpt", "diff", str(tmp_path / "one"), str(tmp_path / "other")]) == 1
    assert "1 changed" in capsys.readouterr().out


def test_the_largest_difference_of_more_than_a_piece(ckpt, monkeypatch):
    monkeypatch.setattr(difference, "_PIECE", 5)
    _, out, _ = ckpt("diff", "a", "b")
    assert f"~ {KERNEL}  float32 (4, 3), by up to 2" in out


def test_ls_reads_the_index_alone(ckpt):
    for file in Path("a").glob("data-*"):
        file.unlink()
    _, out, _ = ckpt("ls", ".", "--json")
    assert [(one["name"], one["state"], one["tensors"]) for one in json.loads(out)] == [
        ("a", "checkpoint", 5),
        ("b", "checkpoint", 5),
    ]
