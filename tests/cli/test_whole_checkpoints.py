"""The command ``graftax``: version, output that others read, and what works on whole checkpoints."""

import json
import os
import shlex
import subprocess
import sys

import pytest

import graftax as gx
from graftax.cli.main import main


def test_the_version(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"graftax {gx.__version__}\n"


def test_json_has_no_nan(tmp_path, capsys):
    gx.Checkpoint(v=gx.Variable([1.0])).save(tmp_path / "c", meta={"a": float("nan"), "b": [float("inf")]})
    assert main(["ckpt", "show", str(tmp_path / "c"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out, parse_constant=lambda name: pytest.fail(name))
    assert found["meta"] == {"a": "nan", "b": ["inf"]}


def test_closed_standard_output():
    run = subprocess.run(
        f"{shlex.quote(sys.executable)} -m graftax ckpt ls . >&-", shell=True, capture_output=True, check=False
    )
    assert run.returncode == 5
    assert run.stderr.decode() == "graftax: standard output is closed, so there is nowhere to print to\n"


def test_extract_and_prune(tmp_path, capsys):
    manager = gx.CheckpointManager(tmp_path, v=gx.Variable([1.0] * 100))
    manager.save(1)
    manager.save(2, base=tmp_path / "step-1")
    for step in (3, 4, 5):
        manager.save(step)
    assert main(["ckpt", "ls", str(tmp_path)]) == 0
    assert "refers to step-1" in capsys.readouterr().out
    assert main(["ckpt", "extract", str(tmp_path / "step-2"), "--to", str(tmp_path / "out" / "alone")]) == 0
    assert main(["ckpt", "verify", str(tmp_path / "out" / "alone")]) == 0
    capsys.readouterr()
    assert main(["ckpt", "prune", str(tmp_path), "--keep", "3", "--dry-run"]) == 0
    assert capsys.readouterr().out == "would delete step-2\nwould delete step-1\n"
    assert main(["ckpt", "prune", str(tmp_path), "--keep", "2"]) == 0
    assert sorted(os.listdir(tmp_path)) == ["out", "step-4", "step-5"]
    assert main(["ckpt", "prune", str(tmp_path)]) == 2
