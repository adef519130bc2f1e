"""What the command line tells to write is for the shell: options, and Python only for the function of the user's."""

import ast
import inspect
import re
import shlex
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import graftax as gx
from graftax.cli.main import main
from graftax.cli.shell_words import shell_message, with_options
from graftax.core.errors import ArgumentError

PROGRAM = """
import graftax as gx

def build(units=3, extra=False):
    layer = gx.layers.Dense(units)
    layer.build((1, 2))
    return {"model": layer, **({"extra": gx.Variable(1.0)} if extra else {})}

def adapted(alpha=1):
    found = build()
    gx.graft(found["model"], gx.reparam.LoRA(1, alpha=alpha, name="p"), where="kernel")
    return found

def louder(): return adapted(2)
def louder_alone(): return louder()["model"]
def alone(): return build()["model"]
def frozen():
    found = build()
    found["model"].freeze()
    return found

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
    assert main(["ckpt", "save", "train.py:adapted", "l"]) == 0
    return tmp_path


def says(capsys, line):
    capsys.readouterr()
    assert main(shlex.split(line)) != 0
    return capsys.readouterr().err


ARGUMENTS = {*inspect.signature(gx.Checkpoint.restore).parameters, "overwrite", "keep", "keep_every"} - {"self", "path"}
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
    "ckpt restore l train.py:louder": "or --settings saved, which assigns those; or --settings program, which keeps",
    "ckpt save train.py:louder b --from l": "graftax ckpt restore CKPT TARGET --save OUT.*--settings program",
    "export save train.py:louder_alone e --from l": "graftax ckpt restore CKPT TARGET --save OUT.*--settings program",
    "ckpt rename a --to b --map x=model --map y=model": "graftax ckpt restore CKPT TARGET --map x=model --map y=model",
    "ckpt prune . --keep 0": "--keep 5",
    "ckpt prune . --keep 1 --keep-every 0": "--keep-every 5",
    "ckpt extract a --to b --only nothing": "instead: one of gx.random",
    "export save train.py:alone e --input 'b,'": '--input "batch 8"',
    "ckpt restore l x.npz --settings saved": "graftax ckpt restore l x.npz",
    "ckpt restore l x.npz --trainable saved": "graftax ckpt restore l x.npz",
}


@pytest.mark.parametrize("line", CASES)
def test_a5_the_command_line_tells_what_to_write_in_the_shell(line, folder, capsys):
    message = says(capsys, line)
    instead = f"instead: {message.split('instead: ')[-1]}"
    assert re.search(CASES[line], instead)
    assert not re.search(rf"\b({'|'.join(ARGUMENTS)})=(?!CKPT)", message)


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
            "--cast safe to widen, --cast any to lose",
        ),
        ("keep large state in Variables, or save in parts with only=", "save in parts with --only"),
        ('skip=[...] them, or mode="cover"', "--skip SELECTOR them, or --mode cover"),
        ('skip="path/**" for what is gone', "--skip 'path/**' for what is gone"),
        ("gx.graft(model, creator)", "in the function of TARGET: gx.graft(model, creator)"),
        ("one of a, b", "one of a, b"),
    ],
)
def test_a5_arguments_become_options(python, shell):
    assert shell in shell_message(ArgumentError("what", "why", python))


def test_a_warning_of_a_restore_names_the_option(folder, capsys):
    with pytest.warns(UserWarning, match="--trainable program keeps it frozen; --trainable saved says"):
        assert main(["ckpt", "restore", "a", "train.py:frozen"]) == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert main(["ckpt", "restore", "a", "train.py:frozen", "--trainable", "program"]) == 0


PACKAGE = Path(gx.__file__).parent
NOT_OF_COMMANDS = {"choices.py", "manager.py", "preemption.py", "retention.py", "not_saved.py"}
"""Files whose messages only programs meet, or that have a row above."""


def remedies():
    """Yield the texts of messages of checkpoints that name an argument, with X for what is filled in."""
    argument = re.compile(rf"\b({'|'.join(ARGUMENTS)})=")
    for file in sorted((PACKAGE / "checkpoint").glob("*.py")) + sorted((PACKAGE / "checkpoint/derived").glob("*.py")):
        tree = ast.parse(file.read_text())
        inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
        docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree) if file.name not in NOT_OF_COMMANDS else ():
            if isinstance(node, ast.JoinedStr):
                parts = [part.value if isinstance(part, ast.Constant) else "X" for part in node.values]
                text = "".join(map(str, parts)).replace("X: X", "'X': 'X'").replace("{X}", "{'X': 'X'}")
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inner | docs:
                text = node.value
            else:
                continue
            if argument.search(text.replace("trainable=False", "")):  # of a Variable
                yield f"{file.name}: {text}"


REMEDIES = list(dict.fromkeys(remedies()))


def test_the_messages_are_found():
    assert len(REMEDIES) > 15


@pytest.mark.parametrize("text", REMEDIES)
def test_no_message_of_a_checkpoint_names_an_argument_in_the_shell(text):
    told = with_options(text).replace("trainable=False", "")
    assert not re.search(rf"\b({'|'.join(ARGUMENTS)})=", told), told


@pytest.mark.parametrize("name", sorted(ARGUMENTS))
def test_each_argument_that_a_message_may_name_is_an_option(name, folder, capsys):
    command = "prune" if name.startswith("keep") else "restore"
    with pytest.raises(SystemExit):
        main(["ckpt", command, "--help"])
    assert f"--{name.replace('_', '-')}" in capsys.readouterr().out
