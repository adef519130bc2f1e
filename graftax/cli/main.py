"""The command ``graftax``: what can be asked for, and what each exit code means.

Only the module of the subcommand that is asked for is imported.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TextIO

from graftax.cli.shell_words import told
from graftax.core.errors import (
    ArgumentError,
    ArgumentTypeError,
    CorruptCheckpoint,
    FormatTooNew,
    FormatTooOld,
    GraftaxError,
    IncompleteCheckpoint,
    MatchError,
    SelectorError,
    UnsafeCheckpoint,
)

EXIT_CODES = (
    "exit codes: 0 fine, 1 differences found, 2 usage, 3 corrupt or unsafe, 4 does not match, 5 input or output"
)

_CODES: tuple[tuple[tuple[type[Exception], ...], int], ...] = (
    ((MatchError,), 4),
    ((CorruptCheckpoint, UnsafeCheckpoint, FormatTooNew, FormatTooOld, IncompleteCheckpoint), 3),
    ((ArgumentError, ArgumentTypeError, SelectorError), 2),
)

_TARGET = (
    "FILE.py:FUNCTION or PACKAGE.MODULE:FUNCTION; called without arguments, returns a Checkpoint or a dict of roots"
)


_SELECTOR = ": a glob of paths, or a role such as role:slot; may be repeated"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    if sys.stdout is None:  # closed by the caller: graftax ... >&-
        print("graftax: standard output is closed, so there is nowhere to print to", file=sys.stderr or _nowhere())
        return 5
    options = _parser().parse_args(argv)
    try:
        code: int = import_module(f"graftax.cli.{options.module}").run(options)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # whoever read the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (GraftaxError, OSError) as error:
        print(f"graftax: {told(error)}", file=sys.stderr)
        return exit_code(error)
    except KeyboardInterrupt:
        return 130


def _nowhere() -> TextIO:
    return open(os.devnull, "w", encoding="utf-8")


def exit_code(error: Exception) -> int:
    """Return the exit code that stands for an error."""
    return next((code for kinds, code in _CODES if isinstance(error, kinds)), 5)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="graftax", description="Tools around graftax.")
    parser.add_argument("--version", action="version", version=f"graftax {sys.modules['graftax'].__version__}")
    groups = parser.add_subparsers(required=True, metavar="GROUP")
    ckpt = groups.add_parser("ckpt", help="list, show, verify, save and restore checkpoints", epilog=EXIT_CODES)
    commands = ckpt.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, text: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=text, description=text, epilog=EXIT_CODES)
        sub.set_defaults(module=f"ckpt_{name}")
        sub.add_argument("--json", action="store_true", help="print JSON")
        return sub

    def subset(sub: argparse.ArgumentParser, what: str) -> None:
        sub.add_argument("--only", action="append", metavar="SELECTOR", help=f"{what} only these{_SELECTOR}")
        sub.add_argument("--skip", action="append", metavar="SELECTOR", help=f"{what} all but these{_SELECTOR}")

    ls = command("ls", "the checkpoints in a folder")
    ls.add_argument("folder", metavar="FOLDER")

    show = command("show", "what a checkpoint holds")
    show.add_argument("checkpoint", metavar="CKPT")
    show.add_argument("--only", action="append", metavar="SELECTOR", help=f"show only these{_SELECTOR}")

    verify = command("verify", "check every byte of a checkpoint")
    verify.add_argument("checkpoint", metavar="CKPT")

    extract = command("extract", "a checkpoint or a part of one as a checkpoint of its own, which refers to no other")
    extract.add_argument("checkpoint", metavar="CKPT")
    extract.add_argument("out", metavar="OUT")
    extract.add_argument("--overwrite", action="store_true", help="replace a checkpoint that is at OUT")
    subset(extract, "take")

    prune = command("prune", "delete checkpoints of a folder, but those to keep and those that others refer to")
    prune.add_argument("folder", metavar="FOLDER")
    prune.add_argument("--keep", type=int, metavar="N", help="the N with the highest steps")
    prune.add_argument("--keep-every", type=int, metavar="STEPS", help="those whose step is a multiple, besides")
    prune.add_argument("--dry-run", action="store_true", help="only print what would be deleted")

    save = command("save", "save what a function of yours builds")
    save.add_argument("target", metavar="TARGET", help=_TARGET)
    save.add_argument("checkpoint", metavar="CKPT")
    save.add_argument("--from", dest="source", metavar="CKPT0", help="restore this checkpoint first")
    save.add_argument("--overwrite", action="store_true", help="replace a checkpoint that is there")
    subset(save, "save")

    restore = command("restore", "restore into what a function of yours builds, or into a file of another tool")
    restore.add_argument("checkpoint", metavar="CKPT")
    restore.add_argument("target", metavar="TARGET", help=f"{_TARGET}; or OUT.npz, OUT.safetensors")
    restore.add_argument("--map", action="append", metavar="PROGRAM=CKPT", help="take PROGRAM's values from path CKPT")
    restore.add_argument("--mode", choices=("exact", "cover", "overlap"), help="how much must fit (exact)")
    restore.add_argument("--cast", choices=("exact", "safe", "any"), help="which dtypes may be converted (exact)")
    restore.add_argument("--save", dest="out", metavar="OUT", help="save the restored program as a new checkpoint")
    restore.add_argument("--overwrite", action="store_true", help="replace what is at OUT")
    subset(restore, "restore")
    return parser
