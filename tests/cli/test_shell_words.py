"""What the command line tells to write is for the shell: options, and Python only for the function of the user's."""

import re
import shlex
import subprocess
import sys

import pytest

from graftax.cli.main import main
from graftax.cli.shell_words import told
from graftax.core.errors import ArgumentError

PROGRAM = """
import graftax as gx

def build(units=3, extra=False):
    layer = gx.layers.Dense(units)
    layer.build((1, 2))
    return {"model": layer, **({"extra": gx.Variable(1.0)} if extra else {})}

def other(): return build(4)
def more(): return build(extra=True)
def empty(): return {"model": gx.layers.Dense(3)}
def fails(): raise RuntimeError("oh")
def wrong(): return 3
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(PROGRAM)
    assert main(["ckpt", "save", "train.py:build", "a"]) == 0
    return tmp_path


def says(capsys, line):
    capsys.readouterr()
    assert main(shlex.split(line)) != 0
    return capsys.readouterr().err


CASES = {
    "ckpt save train.py:build a": "--overwrite",
    "ckpt save train.py:build b --only kernel": r"one of \*\*/kernel",
    "ckpt save train.py:build b --only role:slots": "role:slot",
    "ckpt save train.py:build b --skip '**'": "a selection that leaves something to save",
    "ckpt save train.py:biuld b": "train.py:build",
    "ckpt save nowhere.py:build b": "train.py:build or package.module:build",
    "ckpt save nowhere:build b": "train.py:build or package.module:build",
    "ckpt save train.py:fails b": re.escape('python -c "import train; train.fails()"'),
    "ckpt save train.py:empty b": "in the function of TARGET: build the model first",
    "ckpt restore a train.py:other": "--skip SELECTOR",
    "ckpt restore a train.py:more": r"--skip 'path/\*\*' for what is new, --map PROGRAM=CKPT for",
    "ckpt restore a train.py:build --save a": "--overwrite",
    "ckpt restore a train.py:build --map model": "--map PROGRAM=CKPT",
    "ckpt restore a train.py:build --map model/x=model/y": "--map PROGRAM=CKPT",
    "ckpt restore a x.npz --mode exact": "graftax ckpt restore a x.npz",
    "ckpt restore a x.npz --cast any": "graftax ckpt restore a x.npz",
    "ckpt restore a train.py:empty --save z": "in the function of TARGET: build the layers first",
}


@pytest.mark.parametrize("line", CASES)
def test_a5_the_command_line_tells_what_to_write_in_the_shell(line, folder, capsys):
    message = says(capsys, line)
    instead = message.split("instead: ")[-1]
    assert re.search(CASES[line], instead)
    assert not re.search(r"\b(only|skip|mode|cast|map|overwrite)=(?!CKPT)", message)


def test_a5_what_is_told_works(folder, capsys):
    assert main(shlex.split("ckpt save train.py:build a --overwrite")) == 0
    assert main(shlex.split("ckpt restore a train.py:more --mode overlap --only 'model/**'")) == 0
    assert main(shlex.split("ckpt restore a train.py:build --cast any")) == 0
    assert main(shlex.split("ckpt restore a x.npz")) == 0
    command = says(capsys, "ckpt save train.py:fails b").split("see where it fails: ")[1].strip()
    done = subprocess.run(command.replace("python", sys.executable, 1), shell=True, capture_output=True, text=True)
    assert "RuntimeError: oh" in done.stderr


@pytest.mark.parametrize(
    ("python", "shell"),
    [
        ("overwrite=True, or a new path", "--overwrite, or a new path"),
        (
            'cast="safe" to widen, cast="any" to lose precision knowingly',
            "--cast 'safe' to widen, --cast 'any' to lose",
        ),
        ("keep large state in Variables, or save in parts with only=", "save in parts with --only"),
        ('skip=[...] them, or mode="cover"', "--skip SELECTOR them, or --mode 'cover'"),
        ('skip="path/**" for what is gone', "--skip 'path/**' for what is gone"),
        ("gx.graft(model, creator)", "in the function of TARGET: gx.graft(model, creator)"),
        ("one of a, b", "one of a, b"),
    ],
)
def test_a5_arguments_become_options(python, shell):
    assert shell in told(ArgumentError("what", "why", python))
