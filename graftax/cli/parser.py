"""What the command ``graftax`` can be asked for, and with which options."""

import argparse
import sys
from typing import Any

EXIT_CODES = (
    "exit codes: 0 fine, 1 differences found, 2 usage, 3 corrupt or unsafe, 4 does not match, 5 input or output"
)

_TARGET = (
    "FILE.py:FUNCTION or PACKAGE.MODULE:FUNCTION; called without arguments, returns a Checkpoint or a dict of roots"
)
_EXPORTED = (
    "FILE.py:FUNCTION or PACKAGE.MODULE:FUNCTION; called without arguments, returns a model, or functions and roots"
)
_SELECTOR = ": a path, a glob of paths, or a role such as role:weight; may be repeated"
_FILES = "a checkpoint, or a file such as .safetensors, .pt, .npz"


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    whole = argparse.ArgumentParser(prog="graftax", description="Tools around graftax.")
    whole.add_argument("--version", action="version", version=f"graftax {sys.modules['graftax'].__version__}")
    groups = whole.add_subparsers(required=True, metavar="GROUP")
    text = "list, show, compare, change, save and restore checkpoints"
    ckpt = groups.add_parser("ckpt", help=text, description=text, epilog=EXIT_CODES)
    commands = ckpt.add_subparsers(required=True, metavar="COMMAND")
    _add_inspect_commands(commands)
    _add_change_commands(commands)
    _add_program_commands(commands)
    text = "write programs that run without graftax, look at them, run, check and update them"
    export = groups.add_parser("export", help=text, description=text, epilog=EXIT_CODES)
    _add_export_commands(export.add_subparsers(required=True, metavar="COMMAND"))
    completion = groups.add_parser("completion", help="a script that lets a shell complete commands")
    completion.add_argument("shell", choices=("bash", "zsh", "fish"), help='eval "$(graftax completion bash)"')
    completion.set_defaults(module="completion", parser=whole)
    return whole


def _add_inspect_commands(commands: Any) -> None:
    ls = _command(commands, "ls", "the checkpoints in a folder")
    ls.add_argument("folder", metavar="FOLDER")
    ls.add_argument("--latest", action="store_true", help="print only the path of the one with the highest step")
    ls.add_argument("--sweep", action="store_true", help="delete what dead processes left, first")

    show = _command(commands, "show", "what a checkpoint or a file of another library holds")
    show.add_argument("checkpoint", metavar="CKPT", help=_FILES)
    show.add_argument("--only", action="append", metavar="SELECTOR", help=f"show only these{_SELECTOR}")
    show.add_argument("--tree", action="store_true", help="what paths have in common once")
    show.add_argument("--stats", action="store_true", help="mean, deviation and bounds of the values; reads them all")

    verify = _command(commands, "verify", "check every byte of a checkpoint")
    verify.add_argument("checkpoint", metavar="CKPT", help=_FILES)

    diff = _command(commands, "diff", "what differs between two checkpoints")
    diff.add_argument("first", metavar="A", help=_FILES)
    diff.add_argument("second", metavar="B", help=_FILES)
    _subset(diff, "compare")

    prune = _command(commands, "prune", "delete checkpoints of a folder, but those to keep and those others refer to")
    prune.add_argument("folder", metavar="FOLDER")
    prune.add_argument("--keep", type=int, metavar="N", help="the N with the highest steps")
    prune.add_argument("--keep-every", type=int, metavar="STEPS", help="those whose step is a multiple, besides")
    prune.add_argument("--dry-run", action="store_true", help="only print what would be deleted")


def _add_change_commands(commands: Any) -> None:
    part = "a checkpoint or a part of one as a checkpoint of its own, which refers to no other"
    extract = _command(commands, "extract", part)
    extract.add_argument("checkpoint", metavar="CKPT")
    _destination(extract)
    _subset(extract, "take")

    rename = _command(commands, "rename", "the same with other paths")
    rename.add_argument("checkpoint", metavar="CKPT")
    told = "hang what is at OLD at NEW; globs with equally many stars stand for many; may be repeated"
    rename.add_argument("--map", action="append", metavar="NEW=OLD", help=told)
    _destination(rename)

    merge = _command(commands, "merge", "what several checkpoints have, as one")
    merge.add_argument("checkpoints", metavar="CKPT", nargs="+")
    merge.add_argument("--prefer", choices=("first", "last"), help="whose values count where several have one path")
    _destination(merge, of_several=True)

    cast = _command(commands, "cast", "the same with arrays of another dtype; integers stay")
    cast.add_argument("checkpoint", metavar="CKPT")
    cast.add_argument("--dtype", required=True, metavar="DTYPE", help="such as bfloat16")
    _destination(cast)
    _subset(cast, "cast")

    average = _command(commands, "average", "the mean of several checkpoints; integers are those of the first")
    average.add_argument("checkpoints", metavar="CKPT", nargs="+")
    told = "how much each counts, such as 0.5,0.3,0.2; divided by their sum (all count the same)"
    average.add_argument("--weights", metavar="NUMBERS", help=told)
    _destination(average, of_several=True)
    _subset(average, "take")

    convert = _command(commands, "convert", "a checkpoint into .safetensors or .npz, other files into a checkpoint")
    convert.add_argument("source", metavar="SOURCE", help=_FILES)
    _destination(convert)
    _subset(convert, "take")


def _add_program_commands(commands: Any) -> None:
    save = _command(commands, "save", "save what a function of yours builds")
    save.add_argument("target", metavar="TARGET", help=_TARGET)
    save.add_argument("checkpoint", metavar="CKPT")
    save.add_argument("--from", dest="source", metavar="CKPT0", help="restore this checkpoint first")
    save.add_argument("--overwrite", action="store_true", help="replace a checkpoint that is there")
    _subset(save, "save")

    restore = _command(commands, "restore", "restore into what a function of yours builds, or into another tool's file")
    restore.add_argument("checkpoint", metavar="CKPT")
    restore.add_argument("target", metavar="TARGET", help=f"{_TARGET}; or OUT.npz, OUT.safetensors")
    restore.add_argument("--map", action="append", metavar="PROGRAM=CKPT", help="take PROGRAM's values from path CKPT")
    restore.add_argument("--mode", choices=("exact", "cover", "overlap"), help="how much must fit (exact)")
    restore.add_argument("--cast", choices=("exact", "safe", "any"), help="which dtypes may be converted (exact)")
    told = "the settings of expressions, such as LoRA: as saved (same), or whose count where they differ"
    restore.add_argument("--settings", choices=("same", "saved", "program"), help=told)
    told = "whether weights are trained or frozen as in the checkpoint or as in the program"
    restore.add_argument("--trainable", choices=("saved", "program"), help=told)
    restore.add_argument("--details", action="store_true", help="a line for each value, however many")
    restore.add_argument("--save", dest="out", metavar="OUT", help="save the restored program as a new checkpoint")
    restore.add_argument("--overwrite", action="store_true", help="let --save replace a checkpoint")
    _subset(restore, "restore")


def _add_export_commands(commands: Any) -> None:
    save = _command(commands, "save", "export what a function of yours builds", "export")
    save.add_argument("target", metavar="TARGET", help=_EXPORTED)
    _artefact(save)
    save.add_argument("--from", dest="source", metavar="CKPT", help="restore this checkpoint first")
    save.add_argument("--input", action="append", metavar="SPEC", help='such as "batch time:int32"; in order')
    save.add_argument("--onnx", metavar="FILE", help="write the model as ONNX, too")
    save.add_argument("--platforms", default="cpu,cuda,tpu", metavar="LIST", help="where it runs (cpu,cuda,tpu)")
    save.add_argument("--no-check", action="store_true", help="do not compare what was written with the model")
    save.add_argument("--overwrite", action="store_true", help="replace an artefact that is there")

    show = _command(commands, "show", "the programs of an artefact, what they take and give", "export")
    _artefact(show)

    run = _command(commands, "run", "run a program of an artefact on files", "export")
    _artefact(run)
    run.add_argument(
        "files",
        nargs="*",
        metavar="[SIGNATURE] NAME=IN.npy ... [OUT.npz]",
        help="the program, if there are several; its inputs; where results go, which are printed otherwise",
    )

    check = _command(commands, "check", "check every file of an artefact, and replay its stored trials", "export")
    _artefact(check)

    update = _command(commands, "update", "new weights for an artefact; its programs stay", "export")
    _artefact(update)
    update.add_argument("checkpoint", metavar="CKPT")

    serve = _command(commands, "serve", "answer HTTP requests with the programs of an artefact", "export")
    _artefact(serve)
    serve.add_argument("--host", default="127.0.0.1", metavar="HOST", help="where it listens (127.0.0.1: this machine)")
    serve.add_argument("--port", type=int, default=8000, metavar="PORT", help="0 for any that is free (8000)")
    serve.add_argument("--most", type=int, default=64, metavar="ROWS", help="how many rows run together (64)")
    serve.add_argument("--warm", default="", metavar="ROWS", help="compile for these first, such as 1,8,64")


def _artefact(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("artefact", metavar="ART", help="a folder, or a file that ends in .zip")


def _command(commands: Any, name: str, text: str, group: str = "ckpt") -> argparse.ArgumentParser:
    sub: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text, epilog=EXIT_CODES)
    sub.set_defaults(module=f"{group}_{name}")
    sub.add_argument("--json", action="store_true", help="print JSON")
    return sub


def _destination(sub: argparse.ArgumentParser, of_several: bool = False) -> None:
    if of_several:
        sub.set_defaults(dest=None)  # the last of the words, unless --to is there
    else:
        sub.add_argument("dest", nargs="?", metavar="DEST", help="what is written, here or behind --to")
    sub.add_argument("--to", metavar="DEST", help="what is written")
    sub.add_argument("--overwrite", action="store_true", help="replace a checkpoint that is at DEST")


def _subset(sub: argparse.ArgumentParser, command: str) -> None:
    sub.add_argument("--only", action="append", metavar="SELECTOR", help=f"{command} only these{_SELECTOR}")
    sub.add_argument("--skip", action="append", metavar="SELECTOR", help=f"{command} all but these{_SELECTOR}")
