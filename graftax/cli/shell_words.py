"""Errors told in words of the shell: what messages of Python write as arguments are options here."""

import ast
import re
import shlex
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from graftax.core.errors import GraftaxError, MatchError

_NAMES = "only|skip|mode|cast|settings|trainable"
_MAP = re.compile(r"\bmap=(\{[^}]*\})")
_CHOICE = re.compile(rf"\b({_NAMES})=(\"[^\"]*\"|'[^']*')")
_LIST = re.compile(r"\b(only|skip)=\[((?:\"[^\"]*\"|'[^']*'|, )+)\]")
_COUNT = re.compile(r"\b(keep|keep_every)=(\d+)")
_WORDS = (
    (re.compile(r"\boverwrite=True\b"), "--overwrite"),
    (re.compile(r"\bcheck=False\b"), "--no-check"),
    (re.compile(r"\bcheck=True in save\b"), "graftax export save TARGET ART, without --no-check"),
    (re.compile(r"\bSpec(\(\"[^\"]*\"\))"), lambda found: f"--input {found[1][1:-1]}"),
    (re.compile(r"\b(only|skip)=\[\.\.\.\]"), r"--\1 SELECTOR"),
    (re.compile(rf"\b({_NAMES}|map|overwrite|keep)=(?![\w\"'{{\[(]) ?"), r"--\1 "),
    (re.compile(r"\bkeep_every=(?!\w) ?"), r"--keep-every "),
    (re.compile(r"(--[\w-]+) +(?=[,;)]|\.(?!\w))"), r"\1"),
    (re.compile(r"\brestore\(path, (--[^()]*)\)"), r"graftax ckpt restore CKPT TARGET \1"),
)
_PYTHON = re.compile(
    r"\b(gx|graftax)\.(?!random\b)\w|\w\(|call (it|the model|on) |build the (model|program|layer|weight)"
)
_RESTORING = ("ckpt_save", "export_save")
"""Commands that restore with --from, and have no options for it."""


def shell_message(error: Exception, command: str = "") -> str:
    """Return the message, with options in place of arguments, and Python in the function of TARGET.

    Args:
        error: The error.
        command: The command, such as ``"ckpt_save"``. Defaults to one with all options.

    Example:
        >>> print(
        ...     shell_message(
        ...         GraftaxError("b exists", "a save replaces nothing by default", "overwrite=True, or a new path")
        ...     )
        ... )
        b exists
          why: a save replaces nothing by default
          instead: --overwrite, or a new path
    """
    lines = [with_options(line) for line in str(error).splitlines()]
    if isinstance(error, GraftaxError) and _is_python(with_options(error.instead)):
        lines = [re.sub("^  instead: ", "  instead: in the function of TARGET: ", line) for line in lines]
    elif isinstance(error, MatchError) and command in _RESTORING:
        place = "  instead: graftax ckpt restore CKPT TARGET --save OUT, and --from OUT here; there, "
        lines = [re.sub("^  instead: ", place, line) for line in lines]
    return "\n".join(lines)


@contextmanager
def warnings_with_options() -> Iterator[None]:
    """Show warnings with options in place of arguments until the block ends."""
    with warnings.catch_warnings():
        show = warnings.showwarning

        def show_with_options(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            told = category(with_options(str(message))) if type(message) is UserWarning else message
            show(told, category, filename, lineno, file, line)

        warnings.showwarning = show_with_options
        yield


def with_options(line: str) -> str:
    """Return a line with options in place of arguments.

    Example:
        >>> with_options('settings="program", or skip="model/**", and map={"model/a": "net/b"}')
        "--settings program, or --skip 'model/**', and --map model/a=net/b"
    """
    line = _MAP.sub(_to_map, line)
    line = _LIST.sub(lambda found: _to_options(found[1], re.findall(r"[\"']([^\"']*)[\"']", found[2])), line)
    line = _CHOICE.sub(lambda found: _to_options(found[1], [found[2][1:-1]]), line)
    line = _COUNT.sub(lambda found: f"--{found[1].replace('_', '-')} {found[2]}", line)
    for pattern, option in _WORDS:
        line = pattern.sub(option, line)
    return line.rstrip()


def _to_options(name: str, values: list[str]) -> str:
    return " ".join(f"--{name} {shlex.quote(value)}" for value in values)


def _to_map(found: re.Match[str]) -> str:
    """Return the options for an argument ``map={...}``; a general one if it is no dict of paths."""
    try:
        entries = dict(ast.literal_eval(found[1]))
    except (SyntaxError, ValueError, TypeError):
        entries = {}
    is_of_paths = entries and not any(" " in path for pair in entries.items() for path in map(str, pair))
    given = [f"{new}={old}" for new, old in entries.items()] if is_of_paths else ["PROGRAM=CKPT"]
    return _to_options("map", given)


def _is_python(instead: str) -> bool:
    return _PYTHON.search(instead) is not None and "--" not in instead and "python -c" not in instead
