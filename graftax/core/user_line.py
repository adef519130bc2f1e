"""The user's own line that an error comes from: the innermost one that is neither of graftax nor of what lies below it.

Under a compiled function, a gradient or `fit`, Python's traceback is long and ends in library code; the line to mend is
somewhere in its middle. Looking for it costs nothing until an error is made.
"""

from __future__ import annotations

import linecache
import os
import sys
import warnings
from collections.abc import Iterable
from functools import cache
from types import FrameType, TracebackType
from typing import Any, TypeAlias

from graftax.core import libraries

Place: TypeAlias = tuple[str, int]
"""A file, and a line of it counted from 1."""

_STANDARD = (os.path.dirname(os.__file__) + os.sep, "<frozen")
_WIDTH = 120
_OURS = __name__[: __name__.index(".") + 1]


def of_stack(frame: FrameType | None) -> Place | None:
    """Return the innermost line of the user from this frame outwards; None for the frame itself, and if none is.

    What runs under the command line of graftax has no line of a user around it.
    """
    found = _of_user(frame)
    return (found.f_code.co_filename, found.f_lineno) if found is not None and found is not frame else None


def is_users(frame: FrameType) -> bool:
    """Tell whether a frame runs a line of the user, and none of a library or of Python itself."""
    return not _is_library(frame.f_globals, frame.f_code.co_filename)


def is_ours(frame: FrameType) -> bool:
    """Tell whether a frame runs a line of graftax, in less time than `is_users` takes."""
    return str(frame.f_globals.get("__name__"))[: len(_OURS)] == _OURS


def _of_user(frame: FrameType | None) -> FrameType | None:
    while frame is not None:
        if not _is_library(frame.f_globals, frame.f_code.co_filename):
            return frame
        if frame.f_globals.get("__name__", "").startswith("graftax.cli."):
            return None
        frame = frame.f_back
    return None


def of_traceback(traceback: TracebackType | None) -> Place | None:
    """Return the innermost line of the user that an exception came through; None if there is none."""
    found = None
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if not _is_library(traceback.tb_frame.f_globals, code.co_filename):
            found = code.co_filename, traceback.tb_lineno
        traceback = traceback.tb_next
    return found


def of_lines(lines: Iterable[Place]) -> Place | None:
    """Return the innermost line of the user among those of a stack that is gone, innermost first; None for none."""
    for filename, number in lines:
        if not filename.startswith((*_folders_of(libraries.names()), "<")):
            return filename, number
    return None


@cache
def _folders_of(names: frozenset[str]) -> tuple[str, ...]:
    """Return where the libraries are, and the standard library, but not what is installed below it."""
    found = [getattr(sys.modules.get(name), "__file__", None) for name in sorted(names)]
    folders = [os.path.join(os.path.dirname(one), "") for one in found if one]
    below = os.path.dirname(os.__file__)
    standard = [name for name in os.listdir(below) if name not in ("site-packages", "dist-packages")]
    return (*folders, *(os.path.join(below, name if "." in name else os.path.join(name, "")) for name in standard))


def warn(text: str) -> None:
    """Warn at the user's line."""
    frame = _of_user(sys._getframe(1)) or sys._getframe(1)
    told = frame.f_globals.setdefault("__warningregistry__", {})  # where Python notes that a line has warned already
    warnings.warn_explicit(text, UserWarning, frame.f_code.co_filename, frame.f_lineno, registry=told)


def show_place(place: Place) -> str:
    """Return ``train.py:12: h = h @ w``; files below the working directory are named from there."""
    filename, number = place
    here = os.path.join(_working_directory(), "")
    text = " ".join(linecache.getline(filename, number).split())
    if len(text) > _WIDTH:
        text = text[: _WIDTH - 4] + " ..."
    return f"{filename.removeprefix(here)}:{number}" + (f": {text}" if text else "")


def _working_directory() -> str:
    try:
        return os.getcwd()
    except OSError:  # it is gone
        return ""


def root_of(frame: FrameType) -> str:
    """Return the name of the library that a frame belongs to; ``""`` for one of the user."""
    space = frame.f_globals
    name = str(space.get("__name__", "")).partition(".")[0]
    return name if _is_library(space, frame.f_code.co_filename) else ""


def _is_library(space: dict[str, Any], filename: str) -> bool:
    root = str(space.get("__name__", "")).partition(".")[0]
    if root in libraries.names():
        return not filename.startswith("<doctest")  # an example in a docstring is a program of somebody
    return root in sys.stdlib_module_names and filename.startswith(_STANDARD)
