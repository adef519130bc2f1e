"""The command ``graftax``: what can be asked for, and what each exit code means.

Only the module of the subcommand that is asked for is imported.
"""

import os
import sys
from argparse import Namespace
from collections.abc import Sequence
from importlib import import_module
from typing import TextIO

from graftax.cli.destination import parse
from graftax.cli.parser import parser
from graftax.cli.shell_words import shell_message, warnings_with_options
from graftax.core.errors import (
    ArgumentError,
    ArgumentTypeError,
    CompileError,
    CorruptCheckpoint,
    DTypeError,
    ExportError,
    ExportMismatch,
    FormatTooNew,
    FormatTooOld,
    GraftaxError,
    IncompleteCheckpoint,
    MatchError,
    NotBuiltError,
    SelectorError,
    ShapeError,
    UnsafeCheckpoint,
)

_CODES: tuple[tuple[tuple[type[Exception], ...], int], ...] = (
    ((MatchError, ExportMismatch, ShapeError, CompileError), 4),
    ((ExportError, CorruptCheckpoint, UnsafeCheckpoint, FormatTooNew, FormatTooOld, IncompleteCheckpoint), 3),
    ((ArgumentError, ArgumentTypeError, SelectorError, DTypeError, NotBuiltError), 2),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    if sys.stdout is None:  # closed by the caller: graftax ... >&-
        print("graftax: standard output is closed, so there is nowhere to print to", file=sys.stderr or _open_null())
        return 5
    options: Namespace | None = None
    try:
        options = parse(parser(), sys.argv[1:] if argv is None else argv)
        with warnings_with_options():
            code: int = import_module(f"graftax.cli.{_module(options)}").run(options)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # whoever read the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (GraftaxError, OSError) as error:
        print(f"graftax: {shell_message(error, options.module if options else '')}", file=sys.stderr)
        refused = (
            isinstance(error, ExportError) and options is not None and options.module == "export_save"
        )  # nothing is corrupt
        return 4 if refused else exit_code(error)
    except KeyboardInterrupt:
        return 130


def _module(options: Namespace) -> str:
    """Return the module of a command; files of other libraries, and numbers about values, have their own."""
    name: str = options.module
    if name == "ckpt_show" and options.stats:
        return "ckpt_stats"
    if name in ("ckpt_show", "ckpt_verify") and os.path.isfile(options.checkpoint):
        return f"{name}_file"
    return name


def _open_null() -> TextIO:
    return open(os.devnull, "w", encoding="utf-8")


def exit_code(error: Exception) -> int:
    """Return the exit code that stands for an error."""
    return next((code for kinds, code in _CODES if isinstance(error, kinds)), 5)
