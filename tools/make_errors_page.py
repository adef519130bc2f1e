"""Run the programs in docs/errors.md and write what each prints below it: ``python tools/make_errors_page.py``.

With ``--check`` nothing is written; what differs is printed, and the exit code is 1. The tests do the same, one program
a test. A program is the block of ``python`` in a section, and what it says the block of ``text`` after it.
"""

from __future__ import annotations

import contextlib
import difflib
import io
import linecache
import os
import re
import sys
import tempfile
import textwrap
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
import numpy as np

import graftax as gx

PAGE = Path(__file__).parents[1] / "docs" / "errors.md"
FILE = "train.py"  # what the programs are called in messages
WIDTH = 120  # of the page

_SECTION = re.compile(
    r"^### (.+)\n(?:(?!^##).*\n)*?```python\n((?:.*\n)*?)```\n(?:\n```text\n((?:.*\n)*?)```\n)?", re.MULTILINE
)
_JAX_NOTE = re.compile(r"\n-{5,}\nFor simplicity, JAX has removed [^\n]*")
_ADDRESS = re.compile(r"\b0x[0-9a-f]+")


class Program(NamedTuple):
    """One mistake: its title, its code, and the message that the page shows."""

    title: str
    code: str
    message: str
    span: tuple[int, int]  # of the block of text, or of the place for it


def programs(page: str) -> Iterator[Program]:
    """The programs of a page."""
    for found in _SECTION.finditer(page):
        span = found.span(3) if found[3] is not None else (found.end(), found.end())
        yield Program(found[1], found[2], found[3] or "", span)


def said(code: str) -> str:
    """What Python prints when it runs a program: its output, warnings, and the last lines of a traceback."""
    names = {"__name__": "__main__", "jax": jax, "jnp": jnp, "np": np, "gx": gx, "layers": gx.layers, "ops": gx.ops}
    linecache.cache[FILE] = len(code), None, code.splitlines(keepends=True), FILE
    gx.set_random_seed(0)
    out = io.StringIO()
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(), contextlib.redirect_stdout(out):
        warnings.simplefilter("default")  # as Python does: once a line
        warnings.showwarning = _printed
        os.chdir(folder)
        try:
            exec(compile(code, FILE, "exec"), names)
        except Exception as error:  # noqa: BLE001 - it is what the page shows
            print("".join(traceback.format_exception_only(error)), end="")
        finally:
            os.chdir(here)
            del linecache.cache[FILE]
        text = out.getvalue().replace(os.path.realpath(folder), "/home/me").replace(folder, "/home/me")
    return _folded(_ADDRESS.sub("0x...", _JAX_NOTE.sub("", text)).rstrip()) + "\n"


def _folded(message: str) -> str:
    """The message with its long lines on several, as wide as the page; lines of the user stay as they are."""
    lines = message.splitlines()
    wide = textwrap.TextWrapper(WIDTH, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
    return "\n".join(line if line.startswith("  at: ") or len(line) <= WIDTH else wide.fill(line) for line in lines)


def _printed(message: Any, category: type[Warning], filename: str, line: int, *rest: Any) -> None:
    print(f"{Path(filename).name}:{line}: {category.__name__}: {message}")


def renewed(page: str) -> str:
    """The page with each message as it is now."""
    for program in reversed(list(programs(page))):
        message = said(program.code)
        start, end = program.span
        page = page[:start] + (message if end > start else f"\n```text\n{message}```\n") + page[end:]
    return page


def main(arguments: list[str]) -> int:
    """Write the page, or with ``--check`` return 1 if it is stale."""
    before = PAGE.read_text(encoding="utf-8")
    after = renewed(before)
    if "--check" in arguments:
        sys.stdout.writelines(difflib.unified_diff(before.splitlines(keepends=True), after.splitlines(keepends=True)))
        return int(before != after)
    PAGE.write_text(after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
