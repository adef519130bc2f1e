"""Errors told in words of the shell: what messages of Python write as arguments are options here."""

import re

from graftax.core.errors import GraftaxError

_TO_OPTIONS = (
    (re.compile(r"\boverwrite=True\b"), "--overwrite"),
    (re.compile(r"\bmap=\{[^}]*\}"), "--map PROGRAM=CKPT"),
    (re.compile(r"\b(only|skip)=\[\.\.\.\]"), r"--\1 SELECTOR"),
    (re.compile(r"\b(only|skip|mode|cast)=([\"'])([\w*/.:-]+)\2"), r"--\1 '\3'"),
    (re.compile(r"\b(only|skip|map|mode|cast)= ?"), r"--\1 "),
)
_PYTHON = re.compile(r"\b(gx|graftax)\.\w|\w\(|call (it|the model|on) |build the (model|program|layer|weight)")


def shell_message(error: Exception) -> str:
    """Return the message, with options in place of arguments, and Python in the function of TARGET.

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
    lines = [_with_options(line) for line in str(error).splitlines()]
    if isinstance(error, GraftaxError) and _is_python(_with_options(error.instead)):
        lines = [re.sub("^  instead: ", "  instead: in the function of TARGET: ", line) for line in lines]
    return "\n".join(lines)


def _with_options(line: str) -> str:
    for pattern, option in _TO_OPTIONS:
        line = pattern.sub(option, line)
    return line.rstrip()


def _is_python(instead: str) -> bool:
    return _PYTHON.search(instead) is not None and "--" not in instead and "python -c" not in instead
